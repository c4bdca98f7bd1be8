package console

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client's or user's ID of a call is never a flag.
func TestCallsAreNamedByOneFlag(t *testing.T) {
	flags, err := callNamed("cli", "--all")
	require.NoError(t, err)
	assert.Equal(t, []string{"--json", "--session=cli", "--call=--all"}, flags)
	for _, bad := range [][2]string{{"--all", "x"}, {"", "x"}, {"../x", "x"}, {"cli", ""}, {"cli", "a\x00b"}} {
		_, err := callNamed(bad[0], bad[1])
		assert.Error(t, err, "%q", bad)
	}
	_, err = undoing{scope: scope{Session: "cli", ID: "x"}, Conflicts: "--all"}.args()
	assert.Error(t, err)
	args, err := undoing{scope: scope{Session: "cli", ID: "x"}, Conflicts: "ours", Redo: true}.args()
	require.NoError(t, err)
	assert.Equal(t, []string{"undo", "--json", "--session=cli", "--call=x", "--redo", "--ours"}, args)
}

// An undo is of one file, or of all calls since a time; invalid files and times are refused.
func TestUndoArgs(t *testing.T) {
	args, err := undoing{scope: scope{Session: "cli", ID: "x", Paths: []string{"--all"}}}.args()
	require.NoError(t, err)
	assert.Equal(t, []string{"undo", "--json", "--session=cli", "--call=x", "--path=--all"}, args)
	args, err = undoing{scope: scope{Session: "cli", ID: "x", Since: "2026-11-23T14:00:00.000123+02:00"}, Redo: true}.args()
	require.NoError(t, err)
	assert.Equal(t, []string{"undo", "--json", "--since=2026-11-23T12:00:00.000123Z", "--redo"}, args)
	for _, bad := range []scope{{Session: "cli", ID: "x", Since: "1h"}, {Session: "cli", ID: "x", Since: "2026-11-23T12:00:00Z --all"}, {},
		{Session: "../x", ID: "x", Since: "2026-11-23T12:00:00Z"}, {Session: "cli", ID: "x", Paths: []string{"a\x00b"}}} {
		_, err := undoing{scope: bad}.args()
		assert.Error(t, err, "%+v", bad)
	}
}

// The JSON to copy is the same value in ASCII.
func TestPlain(t *testing.T) {
	for _, text := range []string{"", "a'b", "\u202e\u200b\u00ad", "\U0001f600\U000e0041", "\x7f\u0085",
		"tab\tline\n"} {
		data, err := json.Marshal(map[string]string{text: text})
		require.NoError(t, err)
		shown := plain(data)
		assert.Regexp(t, `^[ -~]*$`, shown)
		assert.JSONEq(t, string(data), shown)
	}
}

// Texts of results and errors, and names in them, hide nothing.
func TestShownJSON(t *testing.T) {
	hostile := "<img src=x onerror=alert(1)>\u202e\x1b[2J\u200b"
	data, err := json.Marshal(map[string]any{hostile: []any{hostile, map[string]string{"a": hostile}}, "n": 1e3})
	require.NoError(t, err)
	shown := string(shownJSON(data))
	for _, r := range []rune{'\u202e', '\u200b', '\x1b'} {
		assert.NotContains(t, shown, string(r))
	}
	assert.NotContains(t, shown, `"\u202e`)
	assert.Contains(t, shown, `\\u202e`)
	assert.Nil(t, shownJSON(json.RawMessage("no JSON")))
}
