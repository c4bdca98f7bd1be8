package proc_test

import (
	"bufio"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func openShell(t *testing.T, script string, lines chan<- string) *proc.Process {
	t.Helper()
	p, err := proc.Open(t.Context(), proc.Command{
		Argv: []string{"/bin/sh", "-c", script}, Env: proc.Environ(nil), Grace: 200 * time.Millisecond,
		OnLine: func(_, line string) {
			if lines != nil {
				lines <- line
			}
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { p.Stop(); p.Stdout.Close() })
	return p
}

func TestOpenTalks(t *testing.T) {
	lines := make(chan string, 1)
	p := openShell(t, `echo ready >&2; while read -r line; do echo "got $line"; done; exit 3`, lines)
	require.Equal(t, "ready", testproc.Receive(t, lines))
	out := bufio.NewReader(p.Stdout)
	for _, word := range []string{"one", "two"} {
		_, err := p.Stdin.WriteString(word + "\n")
		require.NoError(t, err)
		line, err := out.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "got "+word+"\n", line)
	}
	require.NoError(t, p.Stdin.Close())
	result, err := p.Result()
	require.NoError(t, err)
	require.Equal(t, 3, result.ExitCode)
	require.Equal(t, "ready\n", result.Stderr.String())
}

func TestOpenStopEndsWhatIgnoresIt(t *testing.T) {
	sleep := string(testproc.Sleep(t))
	p := openShell(t, `trap '' TERM; sh -c 'trap "" TERM; echo $$; exec `+sleep+`' & wait; `+sleep, nil)
	pid, err := bufio.NewReader(p.Stdout).ReadString('\n')
	require.NoError(t, err)
	p.Stop()
	result, err := p.Result()
	require.NoError(t, err)
	require.True(t, result.Cancelled)
	if runtime.GOOS == "linux" {
		require.Eventually(t, func() bool {
			stat, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, time.Minute, 10*time.Millisecond)
	}
}

func TestOpenTellsAMissingProgram(t *testing.T) {
	_, err := proc.Open(t.Context(), proc.Command{Argv: []string{"/no/such/program"}})
	require.ErrorIs(t, err, &tool.Error{Code: tool.CommandNotFound})
}
