package memory_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/memory"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// takes makes the test's own program take that many bytes; with twice it starts another that does.
const takes, twice = "TOOLHOST_TEST_TAKES", "TOOLHOST_TEST_TWICE"

func TestMain(m *testing.M) {
	n, _ := strconv.Atoi(os.Getenv(takes))
	if n == 0 {
		os.Exit(m.Run())
	}
	if os.Getenv(twice) != "" {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), twice+"=")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if child.Start() != nil {
			os.Exit(1)
		}
	}
	taken := make([]byte, n)
	for i := 0; i < n; i += os.Getpagesize() {
		taken[i] = 1
	}
	fmt.Println("taken")
	_, _ = os.Stdin.Read(taken[:1])
}

func TestWatch(t *testing.T) {
	testneed.NotShort(t, "fills the memory")
	const bound = 96 << 20
	for name, c := range map[string]struct {
		takes int
		twice bool
		ended bool
	}{
		"less":                   {takes: 16 << 20},
		"more":                   {takes: 128 << 20, ended: true},
		"less each, more as two": {takes: 64 << 20, twice: true, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), takes+"="+strconv.Itoa(c.takes))
			if c.twice {
				cmd.Env = append(cmd.Env, twice+"=1")
			}
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			require.NoError(t, cmd.Start())
			over := make(chan struct{})
			stop := memory.Watch(cmd.Process.Pid, bound, func() { close(over) })
			defer stop()
			if !c.ended {
				_, err := out.Read(make([]byte, 5)) // it has taken its memory
				require.NoError(t, err)
				select {
				case <-over:
					t.Error("it was ended")
				case <-time.After(time.Second):
				}
				stdin.Close()
				require.NoError(t, cmd.Wait())
				return
			}
			testproc.Receive(t, over)
			err = cmd.Wait()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			assert.Equal(t, "signal: killed", exit.String())
		})
	}
}

func TestDefault(t *testing.T) {
	assert.Greater(t, memory.Default(), int64(32<<20))
	assert.Equal(t, memory.Default(), (*memory.Bound)(nil).Bytes())
	assert.Contains(t, memory.Text(3<<29), "more than 1.5 GiB of memory together")
}
