package textedit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

func TestDiffIsGits(t *testing.T) {
	testneed.NotShort(t, "compares with git for seconds")
	for i, c := range []struct{ n, size, fresh, context int }{
		{400, 8, 0, 3}, {400, 30, 20, 3}, {300, 30, 0, 3}, {200, 200, 30, 3}, {200, 200, 90, 3},
		{20, 3000, 50, 3}, {10, 3000, 95, 3}, {10, 6000, 0, 3}, {3, 30000, 0, 3}, {3, 30000, 10, 3}, {200, 40, 30, 0},
		{200, 40, 30, 1}, {100, 40, 30, 10},
	} {
		t.Run(fmt.Sprintf("size=%d,fresh=%d,context=%d", c.size, c.fresh, c.context), func(t *testing.T) {
			pairs := randomPairs(uint64(i), c.n, c.size, c.fresh)
			bad := 0
			for j, want := range gitDiffs(t, pairs, c.context) {
				got := hunksOf(Diff("f", "f", pairs[j].old, pairs[j].new, c.context))
				if got != want {
					if bad++; bad <= 1 {
						t.Logf("pair %d\nold: %q\nnew: %q\ngot:\n%s\nwant:\n%s", j, trunc(string(pairs[j].old)),
							trunc(string(pairs[j].new)), trunc(got), trunc(want))
					}
				}
			}
			require.Zero(t, bad, "differ, of %d", c.n)
		})
	}
}
func trunc(s string) string { return s[:min(len(s), 1500)] }
