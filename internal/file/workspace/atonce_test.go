package workspace

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAtOnce runs each once, no more at a time than allowed, and starts nothing
// after a failure. The error is the one of a sequential run.
func TestAtOnce(t *testing.T) {
	for _, limit := range []int{1, 4, 1000} {
		for _, n := range []int{0, 1, 3, 500} {
			times := make([]atomic.Int64, n)
			var now, most atomic.Int64
			require.NoError(t, atOnce(n, limit, func(i int) error {
				for is := now.Add(1); ; {
					if was := most.Load(); is <= was || most.CompareAndSwap(was, is) {
						break
					}
				}
				times[i].Add(1)
				now.Add(-1)
				return nil
			}))
			for i := range times {
				assert.EqualValues(t, 1, times[i].Load(), "%d of %d", i, n)
			}
			assert.LessOrEqual(t, most.Load(), int64(limit))
		}
		var begun atomic.Int64
		err := atOnce(100_000, limit, func(i int) error {
			begun.Add(1)
			if i >= 7 {
				return fmt.Errorf("number %d", i)
			}
			return nil
		})
		assert.EqualError(t, err, "number 7")
		assert.LessOrEqual(t, begun.Load(), int64(7+limit))
	}
}

// The limit is below the process's open files.
func TestDraftsAtOnce(t *testing.T) {
	n := draftsAtOnce()
	assert.True(t, n >= leastDrafts && n <= maxDrafts && (n == leastDrafts || n <= mostOpen()/4), "%d", n)
}
