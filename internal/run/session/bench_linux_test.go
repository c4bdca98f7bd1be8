package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/session"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestShellIsAsQuickAsATerminal compares a command in a session's shell with the same typed at a bare one, by
// the shortest of many runs.
func TestShellIsAsQuickAsATerminal(t *testing.T) {
	testneed.LongOnly(t, "figures need a machine at rest")
	bash := testneed.Program(t, "bash")
	a := newArena(t, sandbox.Full, session.Options{})
	sh := session.NewShell(a.all, func() background.Spec { return a.spec(false, bash, "--noprofile", "--norc").Spec })
	bare := &arena{t: t, root: a.root, level: sandbox.Off, all: a.all}
	s := bare.start(true, bash, "--noprofile", "--norc")
	bare.write(s, "PS1=; stty -echo\n")
	shortest := func(run func(i int)) (best time.Duration) {
		for i := range 300 {
			begun := time.Now()
			run(i)
			if took := time.Since(begun); i == 0 || took < best {
				best = took
			}
		}
		return best
	}
	typed := shortest(func(i int) {
		bare.write(s, fmt.Sprintf("/bin/true; echo end-%d-$?\n", i))
		bare.until(s, fmt.Sprintf("end-%d-0\r\n", i))
	})
	ours := shortest(func(int) {
		_, err := sh.Run(t.Context(), "/bin/true", patience)
		require.NoError(t, err)
	})
	t.Logf("a command in a warm session: %s, at a bare terminal: %s", ours, typed)
	require.Less(t, ours, typed*3/2)
}
