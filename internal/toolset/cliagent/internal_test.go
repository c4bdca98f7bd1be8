package cliagent

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

// TestNamedMissing has the shells' messages, word for word.
func TestNamedMissing(t *testing.T) {
	for stderr, want := range map[string]string{
		"bash: line 1: nope: command not found\n":              "nope",
		"/bin/bash: nope: command not found\n":                 "nope",
		"sh: 1: nope: not found\n":                             "nope",
		"/bin/sh: 1: nope: Permission denied\n":                "nope",
		"sh: nope: not found\n":                                "nope", // busybox
		"ksh: nope: not found\n":                               "nope",
		"zsh:1: command not found: nope\n":                     "nope",
		"fish: Unknown command: nope\nfish:\nnope\n^~~^\n":     "nope",
		"bash: line 1: ./nope.sh: No such file or directory\n": "./nope.sh",
		"'nope' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n": "nope",
		"warning: x\nbash: line 1: a: command not found\nbash: line 2: b: command not found\n":                "b",
		"something else\n": "",
		"":                 "",
	} {
		assert.Equal(t, want, namedMissing(stderr), "%q", stderr)
	}
}

func TestInteger(t *testing.T) {
	for text, want := range map[string]integer{"3": 3, "-3": -3, "3.0": 3, "1e2": 100, `"7"`: 7, "1e300": 1<<31 - 1,
		"-1e999": -1 << 31} {
		var n integer
		require.NoError(t, json.Unmarshal([]byte(text), &n), text)
		assert.Equal(t, want, n, text)
	}
	var n integer
	assert.Error(t, json.Unmarshal([]byte(`"x"`), &n))
}

func TestForeignErrorsAreInternal(t *testing.T) {
	e := inContract(errors.New("it broke"))
	assert.Equal(t, tool.Internal, e.Code)
	assert.Equal(t, "It broke", e.Message)
	assert.NotEmpty(t, e.Suggestion)
	assert.NotEmpty(t, inContract(&tool.Error{Code: tool.Denied, Message: "no"}).Suggestion)
}

func TestSearchTimeoutIs30s(t *testing.T) {
	deps := Deps{}.complete()
	assert.Equal(t, "Warning: Search timed out after 30s, returning partial results", timedOutWarning(deps))
	for _, name := range []string{"grep_search", "file_search"} {
		assert.Greater(t, definitions()[name].Timeout, deps.SearchTimeout)
	}
}
