package multiedit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/edithistory"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestHistory replays more than 300 random edits of a git history, all of a
// file in one call, and compares with git.
func TestHistory(t *testing.T) {
	testneed.NotShort(t, "replays generated histories for seconds")
	count := 0
	b := newBench(t)
	for _, c := range edithistory.Generate(t, edithistory.Options{Seed: 2, Commits: 160}) {
		for _, name := range c.Changed {
			text := string(c.Before[name].Data)
			b.Write(name, text)
			hunks := c.Edits[name]
			var texts []string
			for i := len(hunks) - 1; i >= 0; i-- {
				if old, new := hunks[i].Unique(text); old != "" {
					texts = append(texts, old, new)
					text = strings.Replace(text, old, new, 1)
				}
			}
			if len(texts) == 0 {
				continue
			}
			r, err := b.Call(edits(name, texts...))
			require.Nil(t, err, name)
			require.Equal(t, string(c.After[name].Data), b.Read(name))
			count += r.ActualReplacements
		}
	}
	require.Greater(t, count, 300)
	t.Logf("%d edits", count)
}
