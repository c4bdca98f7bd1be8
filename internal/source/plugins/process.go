package plugins

import (
	"os/exec"
	"sync"
	"syscall"

	"github.com/toolhost/toolhost/internal/run/proc"
)

// processGroup is a process and all that it starts.
type processGroup struct {
	mu   sync.Mutex
	pid  int
	gone bool // waited for: the id may be reused
}

func (g *processGroup) started(cmd *exec.Cmd) { g.pid = cmd.Process.Pid }

// terminate asks the group to end, and continues stopped processes for that.
func (g *processGroup) terminate() { g.signal(syscall.SIGTERM, syscall.SIGCONT) }

// kill kills the group, and processes that left it.
func (g *processGroup) kill(marker string) {
	g.signal(syscall.SIGKILL)
	proc.KillMarked(marker)
}

func (g *processGroup) signal(signals ...syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return
	}
	for _, s := range signals {
		_ = syscall.Kill(-g.pid, s)
	}
}

// reap waits for the process to end and kills what it left behind: the group while the zombie still holds its id,
// so that no other group is hit. ended, which may be nil, is called before the id is released.
func (g *processGroup) reap(cmd *exec.Cmd, marker string, ended func()) {
	held := g.awaitExit()
	if ended != nil {
		ended()
	}
	if !held {
		_ = cmd.Wait()
	}
	g.kill(marker)
	g.mu.Lock()
	g.gone = true
	g.mu.Unlock()
	if held {
		_ = cmd.Wait()
	}
}

func (g *processGroup) close() {}
