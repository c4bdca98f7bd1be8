//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/fleet/worker"
)

// A worker that is drained while it packs a workspace lets go of it when all of it
// is packed: nothing that was acknowledged is missing on the next worker.
func TestDrainWhilePacking(t *testing.T) {
	f := newInside(t, notes, "")
	at := f.start1(discard, func(o *worker.Options) { o.PackAfter = 0 })
	f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
	s := session(t, f.url)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("n", i))
		result := callTool(t, s, "note", note(want[i]), nil)
		require.False(t, result.IsError, text(result))
		assert.Equal(t, want, strings.Fields(text(result)))
		next := f.start1(discard, func(o *worker.Options) { o.PackAfter = 0 })
		at.Close()
		at = next
	}
}
