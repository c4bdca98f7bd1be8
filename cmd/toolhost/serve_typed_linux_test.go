package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Text typed at a program is not recorded as a parameter, so that a password is not in the record. The record has the
// terminal's output, which includes typed text only if the terminal echoes it.
func TestTypedPasswordsAreNotRecorded(t *testing.T) {
	testneed.Program(t, "bash")
	dir := testneed.VisibleDir(t)
	plant(t, dir, texts{"agent.hcl": "policy {\n  dangerous = \"allow\"\n}\n"})
	s := serve(t, dir, "--toolset", "codex")
	call := func(name string, params map[string]any) string {
		data, err := json.Marshal(params)
		require.NoError(t, err)
		r := s.call(name, string(data))
		require.False(t, r.IsError, r.text())
		return r.text()
	}
	text := call("exec_command", map[string]any{"tty": true, "yield_time_ms": 1000,
		"cmd": `read -r shown; read -rsp 'password: ' p; echo; echo "${#p} letters"; exit 3`})
	found := regexp.MustCompile(`session ID (\d+)`).FindStringSubmatch(text)
	require.NotNil(t, found, text)
	write := func(chars string) string {
		return call("write_stdin", map[string]any{"session_id": json.Number(found[1]), "chars": chars, "yield_time_ms": 300})
	}
	text = write("typed-in-the-open\n")
	for !strings.Contains(text, "password: ") {
		text += write("")
	}
	assert.Contains(t, text, "typed-in-the-open")
	for text = write("typed-in-secret\n"); !strings.Contains(text, "exited with code 3"); {
		text += write("")
	}
	assert.Contains(t, text, "15 letters")
	assert.Zero(t, s.end())
	var kept strings.Builder
	for _, root := range []string{envOf(s, "XDG_STATE_HOME"), dir} {
		require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			kept.Write(data)
			return err
		}))
	}
	assert.Contains(t, kept.String(), "write_stdin")
	assert.Contains(t, kept.String(), "typed-in-the-open")
	assert.NotContains(t, kept.String(), "typed-in-secret")
}
