package state_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/state"
)

// In memory, values are kept for this store alone, for all its users.
func TestInMemory(t *testing.T) {
	store, other := state.InMemory(), state.InMemory()
	t.Cleanup(func() { store.Close(); other.Close() })
	s := store.Scope("a", tool.PersistentScope, "")
	_, ok, err := s.Get(t.Context(), "n")
	require.NoError(t, err)
	assert.False(t, ok)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.NoError(t, increment(s, "n")) })
	}
	wg.Wait()
	assertCounter(t, s, "n", 8)
	keys, err := other.Scope("a", tool.PersistentScope, "").Keys(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, keys)
	require.NoError(t, store.EndSession(t.Context(), "s"))
}
