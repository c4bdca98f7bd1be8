package proc

import (
	"context"
	"os"
	"runtime"
	"time"
)

// closeGrace is how long a process has to end after its input has ended.
const closeGrace = 500 * time.Millisecond

// Process is a command that runs while its caller talks to it.
type Process struct {
	// Stdin is the writing end of its standard input, Stdout the reading end of its standard output; the caller
	// closes both. Stdin also ends when the host dies.
	Stdin, Stdout *os.File

	run    *run
	cancel context.CancelFunc
	done   chan struct{} // closed when all its processes have ended
	result *Result
	err    error
}

// Open starts a command whose standard input and output the caller handles; Stdin, Stdout, SpillDir and Limit
// of c are ignored, and OnLine gets the lines of standard error. It is confined and cleaned up as in Run, once
// the process ends, is stopped, or ctx ends. The error, a *tool.Error, means that it could not be started.
func Open(ctx context.Context, c Command) (*Process, error) {
	c.SpillDir, c.Limit = "", nil
	ctx, cancel := context.WithCancel(ctx)
	p := &Process{run: newRun(c), cancel: cancel, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.live(ctx, started)
	if err := <-started; err != nil {
		cancel()
		return nil, err
	}
	return p, nil
}

// live starts the process and waits for its end, on one thread: a parent-death signal is tied to the thread
// that started the process.
func (p *Process) live(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer p.cancel()
	defer p.run.close()
	if err := p.run.startWith(p.plumb); err != nil {
		closeAll(p.ends())
		started <- err
		return
	}
	started <- nil
	p.result, p.err = p.run.wait(ctx)
	close(p.done)
}

func (p *Process) ends() (ends []*os.File) {
	for _, end := range []*os.File{p.Stdin, p.Stdout} {
		if end != nil {
			ends = append(ends, end)
		}
	}
	return ends
}

// plumb connects input and output to the caller and standard error to the capture.
func (p *Process) plumb() (theirs []*os.File, err error) {
	stdin, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.Stdin, p.run.cmd.Stdin, theirs = input, stdin, append(theirs, stdin)
	output, stdout, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	p.Stdout, p.run.cmd.Stdout, theirs = output, stdout, append(theirs, stdout)
	errors, stderr, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	p.run.cmd.Stderr, theirs = stderr, append(theirs, stderr)
	p.run.pipes, p.run.outputs = append(p.run.pipes, errors), append(p.run.outputs, errors)
	p.run.readers.Go(func() { p.run.stderr.readFrom(errors) })
	go func() { p.run.readers.Wait(); close(p.run.drained) }()
	return theirs, nil
}

// PID returns the number of the process, or of the launcher in front of it.
func (p *Process) PID() int { return p.run.cmd.Process.Pid }

// Done is closed when the process and its descendants have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Result waits for the end of the process and returns its outcome, with standard error only. The error, a
// *tool.Error, means that the command never ran because its confinement failed.
func (p *Process) Result() (*Result, error) {
	<-p.done
	return p.result, p.err
}

// Stop closes the input, soon after sends the signals of Run, and returns when all processes have ended.
func (p *Process) Stop() {
	_ = p.Stdin.Close()
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.cancel()
		<-p.done
	}
}
