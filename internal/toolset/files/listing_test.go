package files_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// shown returns a listing's names and the note on what is left out.
func (f *fixture) shown(t *testing.T, name, params string) (names []string, note string, truncated bool) {
	t.Helper()
	r, err := f.call(t, name, params)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(r.Contents[0].Text), &names))
	assert.Less(t, len(r.Contents[0].Text), 70_000)
	if len(r.Contents) > 1 {
		note = r.Contents[1].Text
	}
	return names, note, r.Truncated
}

// TestListFilesOfALargeTree wants an overview of the whole tree, not only the
// first directory, and a note on what is missing and how to see it.
func TestListFilesOfALargeTree(t *testing.T) {
	f := newFixture(t)
	const packages, each = 12, 60
	long := strings.Repeat("x", 100)
	for i := range packages {
		for j := range each {
			f.write(t, fmt.Sprintf("node_modules/p%02d/%s%d.js", i, long, j), "")
		}
	}
	f.write(t, "src/main.go", "")
	f.write(t, "z.txt", "")
	names, note, truncated := f.shown(t, "list_files", `{}`)
	assert.True(t, truncated)
	for _, want := range []string{"node_modules/", "node_modules/p00/", "node_modules/p11/", "src/", "src/main.go",
		"z.txt"} {
		assert.Contains(t, names, want)
	}
	assert.Equal(t, "[720 entries below the first 2 levels left out; name a directory in path to see what is in it]",
		note)

	names, note, truncated = f.shown(t, "list_files", `{"path":"node_modules/p03"}`)
	assert.Len(t, names, each)
	assert.Empty(t, note)
	assert.False(t, truncated)

	names, note, _ = f.shown(t, "glob", `{"pattern":"node_modules/**/*.js"}`)
	assert.True(t, slices.IsSorted(names))
	assert.Equal(t, fmt.Sprintf("[%d more paths left out; narrow the pattern to see them]", packages*each-len(names)),
		note)
}

func TestListFilesOfALargeDirectory(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, os.MkdirAll(filepath.Join(f.root, "a", "below"), 0o755))
	for i := range 700 {
		f.write(t, fmt.Sprintf("%s%d", strings.Repeat("y", 150), i), "")
	}
	names, note, truncated := f.shown(t, "list_files", `{}`)
	assert.True(t, truncated)
	assert.Equal(t, "a/", names[0])
	assert.Equal(t, fmt.Sprintf("[%d more entries left out; find them by name with glob]", 702-len(names)), note)
}

// One line of a minified file must not displace all others.
func TestRipgrepCutsLongLines(t *testing.T) {
	testneed.Program(t, "rg")
	f := newFixture(t)
	f.write(t, "a.min.js", strings.Repeat("needle;", 5000)+"\n")
	f.write(t, "b.js", "needle\n")
	text := f.text(t, "rg", `{"pattern":"needle"}`)
	assert.Less(t, len(text), 3000)
	assert.Contains(t, text, "b.js:1:needle")
	assert.Contains(t, text, "a.min.js:1:needle;")
	whole := f.text(t, "rg", `{"pattern":"needle","args":"--max-columns=0 b.js a.min.js"}`)
	assert.Contains(t, whole, strings.Repeat("needle;", 5000))
}
