package callid

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesDiffer(t *testing.T) {
	given := make(map[string]int64)
	for n := int64(1); n < 2*plain; n++ {
		if n == 50_000 {
			n = plain - 50_000
		}
		if n == plain+50_000 {
			break
		}
		text := name(n)
		require.Zero(t, given[text], "%d is called %s too", n, text)
		require.LessOrEqual(t, len(text), 5)
		given[text] = n
	}
}

// Names are unique among concurrent processes, and begin with the same one.
func TestNext(t *testing.T) {
	dir := t.TempDir()
	first := In(dir)
	t.Cleanup(func() { assert.NoError(t, first.Close()) })
	assert.Equal(t, "k7f2", first.Next())
	var all sync.Map
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			names := In(dir)
			for range 100 {
				text := names.Next()
				_, again := all.LoadOrStore(text, true)
				assert.False(t, again, text)
			}
			assert.NoError(t, names.Close())
		})
	}
	done.Wait()
	random := In("")
	assert.NotEqual(t, random.Next(), random.Next())
}
