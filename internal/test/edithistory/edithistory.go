// Package edithistory makes git repositories of random edits for tests: git
// itself says what each edit was and its outcome.
package edithistory

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testgit"
)

// File is a file of a commit.
type File struct {
	Data []byte
	// Mode is git's: 100644 or 100755.
	Mode string
}

// Commit is a step of a history.
type Commit struct {
	// Patch is git's diff from the commit before, with renames and copies.
	Patch []byte
	// Before and After are the whole trees, by path.
	Before, After map[string]File
	// Changed are the paths in both trees with different content, sorted, and
	// Edits git's changes of each.
	Changed []string
	Edits   map[string][]Hunk
}

// Hunk is one change of a file with three lines of context.
type Hunk struct {
	// Start is the first line in the old file, from 1.
	Start    int
	Old, New string
}

// Unique widens the hunk by the surrounding lines of text until its old text
// occurs once in text. A hunk that fills an empty file has no old text.
func (h Hunk) Unique(text string) (old, new string) {
	if h.Old == "" {
		return "", ""
	}
	lines := strings.SplitAfter(text, "\n")
	from := max(h.Start-1, 0)
	to := from + len(strings.SplitAfter(strings.TrimSuffix(h.Old, "\n"), "\n"))
	old, new = h.Old, h.New
	for strings.Count(text, old) != 1 {
		if from > 0 {
			from--
			old, new = lines[from]+old, lines[from]+new
		}
		if to < len(lines) {
			old, new = old+lines[to], new+lines[to]
			to++
		}
	}
	return old, new
}

// Options configure a history.
type Options struct {
	Seed    uint64
	Commits int
	// Tree adds renames, copies, deletions, mode changes and unusual file names.
	Tree bool
	// Bytes adds text that is not UTF-8.
	Bytes bool
}

// Generate makes a history in a new repository and reads it back from git.
func Generate(t testing.TB, opts Options) []Commit {
	t.Helper()
	g := &generator{r: rand.New(rand.NewPCG(opts.Seed, 1)), opts: opts}
	dir := t.TempDir()
	Git(t, dir, nil, "init", "-q", "-b", "main")
	trees := g.trees()
	Git(t, dir, stream(trees), "fast-import", "--quiet")
	ids := strings.Fields(Git(t, dir, nil, "rev-list", "--reverse", "main"))
	require.Len(t, ids, len(trees))
	commits := make([]Commit, len(ids))
	before := map[string]File{}
	for i, id := range ids {
		c := &commits[i]
		c.Patch = []byte(Git(t, dir, nil, "diff-tree", "-r", "--root", "--no-commit-id", "-p", "-M", "-C",
			"--find-copies-harder", "-U3", id))
		c.Before, c.After = before, readTree(t, dir, id)
		c.readEdits(t, dir, id)
		before = c.After
	}
	return commits
}

// Git runs git in dir, without the configuration of user and system.
func Git(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	return testgit.Feed(t, dir, stdin, args...)
}

func readTree(t testing.TB, dir, id string) map[string]File {
	t.Helper()
	files := map[string]File{}
	var names, modes []string
	var ask bytes.Buffer
	for entry := range strings.SplitSeq(strings.TrimSuffix(Git(t, dir, nil, "ls-tree", "-r", "-z", id), "\x00"),
		"\x00") {
		if entry == "" {
			continue
		}
		meta, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(meta)
		names, modes = append(names, name), append(modes, fields[0])
		ask.WriteString(fields[2] + "\n")
	}
	out := bufio.NewReader(strings.NewReader(Git(t, dir, ask.Bytes(), "cat-file", "--batch")))
	for i, name := range names {
		var hash, kind string
		var size int
		_, err := fmt.Fscanf(out, "%s %s %d\n", &hash, &kind, &size)
		require.NoError(t, err)
		data := make([]byte, size+1)
		_, err = io.ReadFull(out, data)
		require.NoError(t, err)
		files[name] = File{Data: data[:size], Mode: modes[i]}
	}
	return files
}

func (c *Commit) readEdits(t testing.TB, dir, id string) {
	t.Helper()
	c.Edits = map[string][]Hunk{}
	for name, f := range c.After {
		if old, ok := c.Before[name]; ok && !bytes.Equal(old.Data, f.Data) {
			c.Changed = append(c.Changed, name)
		}
	}
	slices.Sort(c.Changed)
	for _, name := range c.Changed {
		c.Edits[name] = hunks(t,
			Git(t, dir, nil, "diff-tree", "-p", "--no-renames", "-U3", id+"^", id, "--", ":(literal)"+name))
	}
}

func hunks(t testing.TB, diff string) []Hunk {
	t.Helper()
	var list []Hunk
	var last *string
	for line := range strings.SplitAfterSeq(diff, "\n") {
		if strings.HasPrefix(line, "@@ ") {
			var h Hunk
			_, err := fmt.Sscanf(line, "@@ -%d", &h.Start)
			require.NoError(t, err)
			list = append(list, h)
			continue
		}
		if len(list) == 0 || line == "" {
			continue
		}
		h, text := &list[len(list)-1], line[1:]
		switch line[0] {
		case ' ':
			h.Old, h.New, last = h.Old+text, h.New+text, nil
		case '-':
			h.Old, last = h.Old+text, &h.Old
		case '+':
			h.New, last = h.New+text, &h.New
		case '\\':
			if last == nil || last == &h.Old {
				h.Old = strings.TrimSuffix(h.Old, "\n")
			}
			if last == nil || last == &h.New {
				h.New = strings.TrimSuffix(h.New, "\n")
			}
		}
	}
	return list
}
