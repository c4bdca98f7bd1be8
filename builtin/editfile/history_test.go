package editfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/editfile"
	"github.com/toolhost/toolhost/host/textedit/edithistory"
)

// TestHistory replays more than 300 random edits of a git history, hunk by
// hunk, and compares with what git has.
func TestHistory(t *testing.T) {
	edits := 0
	b := newBench(t, editfile.Options{})
	for _, c := range edithistory.Generate(t, edithistory.Options{Seed: 1, Commits: 160}) {
		for _, name := range c.Changed {
			b.write(name, string(c.Before[name].Data))
			hunks := c.Edits[name]
			for i := len(hunks) - 1; i >= 0; i-- {
				old, new := unique(b.read(name), hunks[i])
				if old == "" {
					continue
				}
				_, err := b.call(edit(name, old, new))
				require.Nil(t, err, "%s: %q -> %q", name, old, new)
				edits++
			}
			if len(c.Before[name].Data) > 0 {
				require.Equal(t, string(c.After[name].Data), b.read(name))
			}
		}
	}
	require.Greater(t, edits, 300)
	t.Logf("%d edits", edits)
}

// unique widens a hunk by the lines above and below until its old text occurs
// once. A hunk that fills an empty file has none.
func unique(text string, h edithistory.Hunk) (old, new string) {
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
