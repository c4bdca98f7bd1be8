package multiedit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/textedit/edithistory"
)

// TestHistory replays more than 300 random edits of a git history, all of a
// file in one call, and compares with what git has.
func TestHistory(t *testing.T) {
	count := 0
	b := newBench(t)
	for _, c := range edithistory.Generate(t, edithistory.Options{Seed: 2, Commits: 160}) {
		for _, name := range c.Changed {
			text := string(c.Before[name].Data)
			b.write(name, text)
			hunks := c.Edits[name]
			var texts []string
			for i := len(hunks) - 1; i >= 0; i-- {
				if old, new := unique(text, hunks[i]); old != "" {
					texts = append(texts, old, new)
					text = strings.Replace(text, old, new, 1)
				}
			}
			if len(texts) == 0 {
				continue
			}
			r, err := b.call(edits(name, texts...))
			require.Nil(t, err, name)
			require.Equal(t, string(c.After[name].Data), b.read(name))
			count += r.ActualReplacements
		}
	}
	require.Greater(t, count, 300)
	t.Logf("%d edits", count)
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
