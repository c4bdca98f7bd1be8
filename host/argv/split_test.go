package argv_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// accepted are texts that Split accepts. The shell says what their words are.
var accepted = []string{
	"", "  ", "a b  c", "-n 20 README.md", `'a b' "c d"`, `a\ b`, `"it's"`, `'say "hi"'`, `a'b'"c"d`,
	`"\$HOME \"q\" \\ \n \` + "`" + `"`, `''`, `"" x`, `-e 'a|b;c&d<e>f'`, `"a|b"`, `a\|b`, `a\;b`, `\$HOME`, `'$HOME'`,
	`"a` + "\n" + `b"`, "a\\\nb", "e\u0301 \u00e9", `--x=a=b`, `{a,b}`, `a#b`, `"#"`, `a~b`, `=x`, `A=b c`, `!`,
	`if then`, `a\*b`, `'*'`, `"?"`,
	`-- -x`, `\-n`, `%s`, `a:b`, `[`, `a]`, "tab\there", `\\`, `'\'`, `"\a"`,
}

func TestSplitAsAShell(t *testing.T) {
	sh := testneed.Program(t, "sh")
	for _, args := range accepted {
		t.Run(args, func(t *testing.T) {
			words, err := argv.Split(args)
			require.NoError(t, err)
			// set -f: globs are tested elsewhere.
			out, err := exec.Command(sh, "-c",
				`set -f; for w in "$@"; do :; done; eval "set -- $1"; for w in "$@"; do printf '%s\0' "$w"; done`, "sh",
				args).Output()
			require.NoError(t, err)
			var got strings.Builder
			for _, w := range words {
				got.WriteString(w.Text + "\x00")
			}
			assert.Equal(t, string(out), got.String())
		})
	}
}

func TestSplitRefusesByName(t *testing.T) {
	tests := map[string]string{
		`a | b`: "a pipe (|) at column 3", `a && b`: "an operator (&&)", `a || b`: "an operator (||)",
		`a ; b`: "a command separator", `a;`: "a command separator", "a\nb": "a command separator",
		`a &`: "a background operator (&)", `a > b`: "a redirection (>) at column 3", `a < b`: "a redirection (<)",
		`a >> b`: "a redirection (>>)", `a 2>&1`: "a redirection", "a << E\nx\nE\n": "a redirection (<<)",
		`$HOME`: "a variable ($HOME) at column 1", `"${x}"`: "a variable ($x)", `a $(id)`: "a command substitution",
		"a `id`": "a command substitution", `$((1+1))`: "an arithmetic expansion", `~/x`: "a tilde", `~root`: "a tilde",
		`a # b`: "a comment (#) at column 3", `(a)`: "cannot be split", `a (b)`: "cannot be split",
		`'a`: "cannot be split", `"a`: "cannot be split", "a\x00b": "a NUL byte", `a $@`: "a variable ($@)",
		"a <(b)": "",
	}
	for args, want := range tests {
		t.Run(args, func(t *testing.T) {
			_, err := argv.Split(args)
			require.Error(t, err)
			e := tool.AsError(err)
			assert.Equal(t, tool.InvalidArgument, e.Code)
			assert.Contains(t, e.Message, want)
			assert.NotEmpty(t, e.Suggestion)
		})
	}
	_, err := argv.Split(strings.Repeat("a ", 70000))
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
}

func TestGlobs(t *testing.T) {
	tests := map[string]string{
		`*.go`: `*.go`, `a?`: `a?`, `[ab]*`: `[ab]*`, `'*'.go*`: `\*.go*`, `"a b"*`: `a b*`,
		`{a}*`: `\{a\}*`, `\**`: `\**`, `plain`: ``, `'*'`: ``, `\*`: ``, `x/**/y`: `x/**/y`,
		`[[:alpha:]]*`: `[a-zA-Z]*`, `[![:digit:]_]`: `[!0-9_]`, `x[[:none:]]`: `x[[:none:]]`, `[:alpha:]`: `[:alpha:]`,
	}
	for args, pattern := range tests {
		words, err := argv.Split(args)
		require.NoError(t, err, args)
		require.Len(t, words, 1)
		assert.Equal(t, pattern, words[0].Pattern, args)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range accepted {
		f.Add(s)
	}
	for _, s := range []string{"a|b", "$(", "`", "<<", "'", "\"\\", "$'a'", "a\\", "\xff", "{,}", "{,a}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		words, err := argv.Split(args)
		if err != nil {
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
			return
		}
		for _, w := range words {
			assert.NotContains(t, w.Text, "\x00")
			quoted := "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
			again, err := argv.Split(quoted)
			require.NoError(t, err)
			if strings.TrimSpace(quoted) != "" && assert.Len(t, again, 1) {
				assert.Equal(t, w.Text, again[0].Text, "a word quoted is the word")
			}
		}
	})
}
