package attack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// On a terminal, no text of an agent or a repository looks like a line of toolhost's, and none scrolls
// away unread.

// Size of the terminal.
const rows, columns = 24, 80

// onScreen is onTerminal with a terminal size, and an unapproved agent.hcl.
func (a *arena) onScreen(typed [][2]string, args ...string) (screen string, code int) {
	a.t.Helper()
	testneed.Program(a.t, "stty")
	screen, code, left := a.typedOn("stty rows 24 cols 80; ", []string{unapprovedFile}, typed, args)
	assert.Empty(a.t, left, "every prompt came")
	return screen, code
}

// forged lists the screen rows that begin with the attacker's text, Z: by a line end in it, or because
// the terminal wrapped a long line.
func forged(screen string) (found []string) {
	for line := range strings.Lines(screen) {
		text := []rune(strings.TrimSuffix(line, "\n"))
		for len(text) > 0 {
			row := text[:min(columns, len(text))]
			if row[0] == 'Z' {
				found = append(found, string(row))
			}
			text = text[len(row):]
		}
	}
	return found
}

// forgeries are texts that would begin a row wherever they are printed.
var forgeries = map[string]string{
	"a line's end": "x\nZ approved",
	"a long line":  "x" + strings.Repeat("Z", 400),
	"a return":     "x\rZ approved",
}

func TestATextForgesNoLine(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	require.Len(t, forged("a\nZ\n"+strings.Repeat("x", columns)+"Z\n"), 2, "control")
	tally.note(tally.controls, "approval", "a forged row is found")
	for name, text := range forgeries {
		a := newArena(t, map[string]string{"agent.hcl": askAll, "real.txt": "old\n"})
		a.arm()
		a.approve(a.ws)
		see := func(what string, typed [][2]string, args ...string) string {
			t.Helper()
			tally.note(tally.cases, "approval", what+" with "+name)
			screen, _ := a.onScreen(typed, args...)
			assert.Empty(t, forged(screen), "%s with %s:\n%s", what, name, screen)
			assert.Contains(t, screen, "Z", "control: %s with %s shows the text", what, name)
			return screen
		}
		file := strings.ReplaceAll(text, strings.Repeat("Z", 400), strings.Repeat("Z", 200)) +
			".txt" // a name has 255 bytes
		params, err := json.Marshal(map[string]string{"path": file, "content": text})
		require.NoError(t, err)
		require.NoError(t, a.program(nil, "call", "write_file", "--params", string(params), "--yes").Run())

		see("explain", nil, "explain", "write_file", "path="+file, "content="+text)
		see("explain of a shell", nil, "explain", "--toolset", "cliagent", "run_in_terminal", "command=echo '"+text+"'")
		see("an error", nil, "call", "read_file", "path=none"+text)
		see("events", nil, "events")
		see("log", nil, "log")
		see("undo --dry-run", nil, "undo", "--dry-run")
		see("call --dry-run", nil, "call", "write_file", "path="+file, "content="+text, "--dry-run")
		see("a question", [][2]string{{"Approve?", "n\n"}, {"Why not?", "\n"}}, "call", "write_file", "path="+file,
			"content="+text)

		c := a.asking()
		said := c.call("write_file", string(params), answers("cancel", nil))
		id := regexp.MustCompile("toolhost approve ([a-z0-9]+)").FindStringSubmatch(said)
		require.NotNil(t, id, said)
		see("approve", nil, "approve")
		see("approve ID", [][2]string{{"Approve?", "always\n"}}, "approve", id[1])
		see("rules list", nil, "rules", "list")
		see("undo", nil, "undo")

		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		a.write(a.ws, "agent.hcl",
			"tool \"t\" {\n  description = \"x\"\n  command {\n    argv = [\"sh\", \"-c\", "+string(quoted)+
				"]\n  }\n}\n", 0o644)
		see("trust --show", nil, "trust", "--show")
		a.write(a.ws, "agent.hcl", "workspace {\n  nothing = "+string(quoted)+"\n}\n", 0o644)
		see("a mistake", nil, "trust")
	}
}

// Recorded texts come from callers and tools.
func TestARecordForgesNoLine(t *testing.T) {
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": askAll, "a.txt": "x"})
	a.arm()
	for name, text := range forgeries {
		tally.note(tally.cases, "approval", "a record with "+name)
		params, err := json.Marshal(map[string]any{"path": "a" + text})
		require.NoError(t, err)
		id := "r" + strings.ReplaceAll(text, "\x00", "")
		_, err = a.run(nil, "call", "--request-id", id, "read_file", "--params", string(params))
		require.Error(t, err, "there is no such file")
		for _, args := range [][]string{{"events"}, {"show", id}} {
			screen, _ := a.onScreen(nil, args...)
			assert.Empty(t, forged(screen), screen)
			assert.Contains(t, screen, "Z", "control: it is shown")
			assert.Empty(t, unseen(screen))
		}
	}
}

func TestNothingLongScrollsAway(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": runsScripts})
	a.arm()
	script := "touch evil-ran\n" + strings.Repeat("true\n", 200) + "touch at-the-end\n"
	tally.note(tally.cases, "approval", "a long question on a terminal")
	more := [2]string{"Enter for more, a for all, q to stop: ", "\n"}
	stop := [2]string{more[0], "q\n"}
	_, code := a.onScreen([][2]string{{"(y/n): ", "y\n"}}, "trust")
	require.Zero(t, code)
	screen, code := a.onScreen([][2]string{more, more, stop}, "call", "run", "script="+script)
	assert.Equal(t, 130, code, screen)
	assert.NotContains(t, screen, "Approve?", "what was not read is not asked about")
	for i, part := range strings.Split(screen, more[0]) {
		assert.LessOrEqual(t, strings.Count(strings.TrimPrefix(part, "\n"), "\n"), rows, "screen %d: %s", i, part)
	}
	assert.NoFileExists(t, filepath.Join(a.ws, "evil-ran"))

	all := [2]string{more[0], "a\n"}
	screen, _ = a.onScreen([][2]string{more, all, {"Approve?", "y\n"}}, "call", "run", "script="+script)
	assert.FileExists(t, filepath.Join(a.ws, "at-the-end"), "control: a person who reads it all and says yes")
	tally.note(tally.controls, "approval", "yes after a long question")
	found := regexp.MustCompile(`Read all \d+ lines above, or in (\S+) \(sha256 ([0-9a-f]{64})\)`).FindStringSubmatch(screen)
	require.NotNil(t, found, screen)
	data, err := os.ReadFile(found[1])
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	assert.Equal(t, found[2], hex.EncodeToString(sum[:]))
	assert.Contains(t, string(data), "| touch at-the-end\n")

	var file strings.Builder
	for i := range 60 {
		file.WriteString("tool \"t" + string(rune('a'+i%26)) + string(rune('a'+i/26)) +
			"\" {\n  description = \"x\"\n  command { argv = [\"true\"] }\n}\n")
	}
	a.write(a.ws, "agent.hcl", file.String(), 0o644)
	tally.note(tally.cases, "approval", "a long agent.hcl on a terminal")
	screen, code = a.onScreen([][2]string{more, stop}, "trust")
	assert.NotZero(t, code, screen)
	screen, code = a.onScreen([][2]string{all, {"(y/n): ", "n\n"}}, "trust")
	assert.Equal(t, 3, code, screen)
	assert.Error(t, a.program([]string{unapprovedFile}, "call", "taa").Run(), "it is not approved")
	screen, code = a.onScreen([][2]string{all, {"(y/n): ", "y\n"}}, "trust")
	assert.Zero(t, code, screen)
	sum = sha256.Sum256([]byte(file.String()))
	assert.Contains(t, strings.ReplaceAll(screen, "\n", ""), hex.EncodeToString(sum[:]),
		"the digest is in the question")
	assert.NoError(t, a.program([]string{unapprovedFile}, "call", "taa").Run(), "control: it is approved")
}
