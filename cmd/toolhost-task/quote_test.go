package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// For any words, the shell reads them back, and the text has no template, even after go-task has
// dropped missing values.
func FuzzQuoteWords(f *testing.F) {
	for _, word := range []string{"", "a b", "{{x}}", "{{{", "it's", "<no value>", "{<no value>{", "$(x)", "\n", "é",
		"\x01{{", "~", "*"} {
		f.Add(word, "second")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		words := []string{first, second}
		text, err := quoteWords(words)
		if err != nil {
			return // unquotable, such as a NUL byte
		}
		assert.NotContains(t, text, "{{")
		assert.NotContains(t, text, noValue)
		var got []string
		parsed, err := syntax.NewParser().Parse(strings.NewReader("x "+text), "")
		require.NoError(t, err, "%q", text)
		require.Len(t, parsed.Stmts, 1, "%q", text)
		got, err = expand.Fields(nil, parsed.Stmts[0].Cmd.(*syntax.CallExpr).Args[1:]...)
		require.NoError(t, err)
		assert.Equal(t, words, got, "%q", text)
	})
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args string
		want request
	}{
		{"", request{names: []string{"default"}}},
		{"-s a X=1 b -- c --list",
			request{silent: true, names: []string{"a", "b"}, variables: []variable{{"X", "1"}},
				arguments: []string{"c", "--list"}}},
		{"-d D -t F --describe", request{describe: true, dir: "D", taskfile: "F", names: []string{""}}},
		{"--dir=D --taskfile=F --exact=--list -- -x",
			request{exact: true, dir: "D", taskfile: "F", names: []string{"--list"}, arguments: []string{"-x"}}},
	} {
		got, err := parse(strings.Fields(c.args))
		require.NoError(t, err, c.args)
		assert.Equal(t, c.want, *got, c.args)
	}
	for _, args := range []string{"--no-such", "--describe", "--exact=a", "--describe --exact=a -d D -t F",
		"--exact=a -d D -t F b", "CLI_ARGS=x a", "=x", "-l -a"} {
		_, err := parse(strings.Fields(args))
		assert.Error(t, err, args)
	}
}
