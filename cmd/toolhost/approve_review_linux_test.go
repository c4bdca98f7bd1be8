package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

var approveID = regexp.MustCompile("`toolhost approve ([a-z0-9]+)`")

const reviewFirst = `
policy {
  dangerous = "review"
}
tool "stamp" {
  description = "Stamps."
  command { argv = ["sh", "-c", "date +%N >stamp.txt; echo x >>a.txt"] }
}
`

// A call's changes in its view are shown to the user who approves it in another process, and exactly
// these are applied, though the command would do something else each time.
func TestReviewInATerminal(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	needsViews(t)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": reviewFirst, "a.txt": "old\n"})
	s := serve(t, dir)
	id := waitingFor(t, s, "stamp")
	assert.NoFileExists(t, filepath.Join(dir, "stamp.txt"))
	assert.Equal(t, "old\n", content(t, dir, "a.txt"))
	assert.Equal(t, id, waitingFor(t, s, "stamp"), "the same call waits once, and is not made again")

	screen, code := onTerminal(t, dir, "n\nnot now\n", homeOf(s), "approve", id)
	assert.Equal(t, 3, code, screen)
	r := s.call("stamp", `{}`)
	assert.True(t, r.IsError)
	assert.Contains(t, r.text(), "says: not now")
	assert.NoFileExists(t, filepath.Join(dir, "stamp.txt"))

	id = waitingFor(t, s, "stamp")
	screen, code = onTerminal(t, dir, "y\n", homeOf(s), "approve", id)
	assert.Zero(t, code, screen)
	for _, part := range []string{"Tool: stamp", "new file: stamp.txt", "+x", "Files affected: a.txt, stamp.txt"} {
		assert.Contains(t, screen, part)
	}
	r = s.call("stamp", `{}`)
	require.False(t, r.IsError, r.text())
	assert.Equal(t, "old\nx\n", content(t, dir, "a.txt"))
	assert.Contains(t, screen, "+"+content(t, dir, "stamp.txt")[:5], "what was shown is what came")
}

// An approval is only for the shown changes.
func TestReviewOfWhatHasChangedSince(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	needsViews(t)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": reviewFirst, "a.txt": "old\n"})
	s := serve(t, dir)
	id := waitingFor(t, s, "stamp")
	screen, code := onTerminal(t, dir, "y\n", homeOf(s), "approve", id)
	require.Zero(t, code, screen)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("mine\n"), 0o644))
	r := s.call("stamp", `{}`)
	assert.True(t, r.IsError, "others have come before: it is shown again")
	assert.Equal(t, "mine\n", content(t, dir, "a.txt"))
	assert.NoFileExists(t, filepath.Join(dir, "stamp.txt"))

	// The same if the stored changes were modified.
	id = waitingFor(t, s, "stamp")
	screen, code = onTerminal(t, dir, "y\n", homeOf(s), "approve", id)
	require.Zero(t, code, screen)
	kept, err := filepath.Glob(filepath.Join(envOf(s, "XDG_STATE_HOME"), "toolhost", filepath.Base(dir)+"-*",
		"views/*/0/upper/a.txt"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.NoError(t, os.WriteFile(kept[0], []byte("evil\n"), 0o644))
	r = s.call("stamp", `{}`)
	assert.True(t, r.IsError)
	assert.Equal(t, "mine\n", content(t, dir, "a.txt"))
}

// waitingFor makes a call that needs approval, and returns the waiting call's ID.
func waitingFor(t *testing.T, s *rpcServer, name string) string {
	t.Helper()
	r := s.call(name, `{}`)
	require.True(t, r.IsError)
	found := approveID.FindStringSubmatch(r.text())
	require.NotNil(t, found, r.text())
	return found[1]
}
