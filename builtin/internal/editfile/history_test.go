package editfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/internal/editfile"
	"github.com/toolhost/toolhost/internal/test/edithistory"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestHistory replays more than 300 random edits of a git history, hunk by
// hunk, and compares with git.
func TestHistory(t *testing.T) {
	testneed.NotShort(t, "replays generated histories for seconds")
	edits := 0
	b := newBench(t, editfile.Options{})
	for _, c := range edithistory.Generate(t, edithistory.Options{Seed: 1, Commits: 160}) {
		for _, name := range c.Changed {
			b.Write(name, string(c.Before[name].Data))
			hunks := c.Edits[name]
			for i := len(hunks) - 1; i >= 0; i-- {
				old, new := hunks[i].Unique(b.Read(name))
				if old == "" {
					continue
				}
				_, err := b.Call(edit(name, old, new))
				require.Nil(t, err, "%s: %q -> %q", name, old, new)
				edits++
			}
			if len(c.Before[name].Data) > 0 {
				require.Equal(t, string(c.After[name].Data), b.Read(name))
			}
		}
	}
	require.Greater(t, edits, 300)
	t.Logf("%d edits", edits)
}
