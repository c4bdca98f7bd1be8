package proc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process leads its own session without a controlling terminal, and no stream of it is one.
func TestNoTerminal(t *testing.T) {
	r := run(t, sh(`cat /proc/$$/stat; for n in 0 1 2; do test -t $n && echo terminal; done; (: </dev/tty) 2>/dev/null && echo opened`))
	stat, more, _ := strings.Cut(r.Stdout.String(), "\n")
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:]) // state, parent, group, session, terminal
	pid, _, _ := strings.Cut(stat, " ")
	require.Greater(t, len(fields), 4)
	assert.Equal(t, []string{pid, pid, "0"}, fields[2:5])
	assert.Empty(t, more)
}
