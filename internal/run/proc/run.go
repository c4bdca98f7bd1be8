package proc

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/memory"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// markName is the environment variable that marks a run's processes.
const markName = "TOOLHOST_CALL"

const (
	// pipeDelay is how long other processes may hold the output open after the end of the command.
	pipeDelay = 500 * time.Millisecond
	// killPatience bounds the search for processes that fork faster than they are killed.
	killPatience = 2 * time.Second
	// readPatience bounds the reading of output after that, which an escaped process may still write.
	readPatience = 5 * time.Second
)

type run struct {
	Command
	cmd            *exec.Cmd
	mark           string
	started        time.Time
	stdout, stderr *capture
	readers        sync.WaitGroup
	drained        chan struct{} // closed when both streams have ended
	pipes          []*os.File    // our ends, closed at the end
	outputs        []*os.File    // those of pipes that output comes from
	status         *statusPipe
	passedFiles    []*os.File // opened by Prepare for the process, closed once it has them
	stopper        stopper
	descendants    map[int]bool // process numbers known to belong to the run
	watch          watch.Watcher
	network        *network.Log
	view           *view.View
	memory         *memory.Bound
	exceeded       atomic.Bool // its memory bound
}

func newRun(c Command) *run {
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Cap <= 0 {
		c.Cap = DefaultCap
	}
	if c.SpillLimit <= 0 {
		c.SpillLimit = DefaultSpillLimit
	}
	r := &run{Command: c, mark: markName + "=" + rand.Text(), drained: make(chan struct{})}
	r.stdout, r.stderr = r.capture("stdout"), r.capture("stderr")
	return r
}

func (r *run) capture(stream string) *capture {
	c := &capture{limit: r.Cap, redactor: redact.NewStream(r.Secrets)}
	if r.SpillDir != "" {
		name := stream + ".txt"
		if r.SpillName != "" {
			name = r.SpillName + "_" + name
		}
		c.spill = spill{root: r.SpillRoot, path: filepath.Join(r.SpillDir, name), limit: r.SpillLimit}
	}
	if r.OnLine != nil {
		c.onLine = func(line string) { r.OnLine(stream, line) }
	}
	if r.OnOutput != nil {
		c.onOutput = func(p []byte) { r.OnOutput(stream, p) }
	}
	return c
}

func (r *run) start() error { return r.startWith(r.plumb) }

// startWith starts the command with the streams connected by plumb.
func (r *run) startWith(plumb func() ([]*os.File, error)) error {
	err := r.build()
	defer func() { closeAll(r.passedFiles) }()
	if err != nil {
		return err
	}
	theirs, err := plumb()
	defer closeAll(theirs)
	if err != nil {
		return startError(r.cmd, r.Argv[0], err)
	}
	r.started = time.Now()
	if err := startRetrying(r.cmd); err != nil {
		return startError(r.cmd, r.Argv[0], err)
	}
	if r.OnStart != nil {
		r.OnStart(r.cmd.Process.Pid)
	}
	return nil
}

// build makes the exec.Cmd, confined but without its streams.
func (r *run) build() error {
	path, err := program(r.Argv, r.Dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(r.Argv, hasNUL) || slices.ContainsFunc(r.Env, hasNUL) {
		return tool.Errorf(tool.InvalidArgument,
			"an argument or variable for %s contains a NUL byte, which no program can be given", r.Argv[0]).
			Suggest("Give it without.")
	}
	r.cmd = &exec.Cmd{
		Path: path, Args: append([]string{}, r.Argv...), Dir: r.Dir,
		Env: append(append([]string{}, r.Env...), r.mark), ExtraFiles: append([]*os.File{}, r.ExtraFiles...),
	}
	if r.Name != "" {
		r.cmd.Args[0] = r.Name
	}
	// Its own session and group, which die with us: without a terminal to block on or write to.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(r.cmd.SysProcAttr)
	if r.Terminal != nil {
		onTerminal(r.cmd.SysProcAttr)
	}
	entered, detach := view.Attach(r.cmd, r.view)
	defer detach()
	r.memory, detach = memory.Attach(r.cmd)
	defer detach()
	if r.Prepare != nil {
		if err := r.prepare(); err != nil {
			return err
		}
	}
	if !entered() {
		return tool.Errorf(tool.Unsupported, "there is no view of the workspace for %s, which is not confined",
			r.Argv[0]).
			Suggest("Choose sandbox level full in agent.hcl.")
	}
	return nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// prepare calls Prepare. A launcher in front gets a pipe for its report.
func (r *run) prepare() error {
	path, own := r.cmd.Path, len(r.cmd.ExtraFiles)
	status, theirs, err := offerStatusPipe(r.cmd)
	if err != nil {
		return err
	}
	r.status, r.passedFiles = status, []*os.File{theirs}
	defer watch.Attach(r.cmd, r.watch)()
	defer network.Attach(r.cmd, r.network)()
	err = r.Prepare(r.cmd)
	r.passedFiles = slices.Clone(r.cmd.ExtraFiles[own:])
	if err == nil && r.cmd.Path == path {
		r.status.close()
		r.status = nil
		r.cmd.ExtraFiles = slices.Delete(r.cmd.ExtraFiles, own, own+1)
		r.cmd.Env = slices.DeleteFunc(r.cmd.Env,
			func(pair string) bool { return strings.HasPrefix(pair, StatusEnv+"=") })
	}
	return err
}

// plumb connects the streams and returns the process's ends.
func (r *run) plumb() (theirs []*os.File, err error) {
	if r.Terminal != nil {
		return r.plumbTerminal()
	}
	read := func(to *capture) (*os.File, error) {
		ours, other, err := os.Pipe()
		if err == nil {
			theirs, r.pipes, r.outputs = append(theirs, other), append(r.pipes, ours), append(r.outputs, ours)
			r.readers.Go(func() { to.readFrom(ours) })
		}
		return other, err
	}
	stdout := r.Stdout
	if stdout == nil {
		if stdout, err = read(r.stdout); err != nil {
			return theirs, err
		}
	}
	stderr, err := read(r.stderr)
	if err != nil {
		return theirs, err
	}
	r.cmd.Stdout, r.cmd.Stderr = stdout, stderr
	go func() { r.readers.Wait(); close(r.drained) }()
	if r.Input != nil {
		r.cmd.Stdin = r.Input
		return append(theirs, r.Input), nil
	}
	if r.Stdin == nil {
		return theirs, nil
	}
	other, ours, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	theirs, r.pipes = append(theirs, other), append(r.pipes, ours)
	r.cmd.Stdin = other
	go func() {
		_, _ = ours.Write(r.Stdin)
		_ = ours.Close()
	}()
	return theirs, nil
}

// wait waits for the end of the run, or enforces it.
func (r *run) wait(ctx context.Context) (*Result, error) {
	r.stopper.arm(ctx, r)
	bound := r.memory.Bytes()
	unwatch := memory.Watch(r.cmd.Process.Pid, bound, func() { r.exceeded.Store(true) })
	waitExit(r.cmd)
	r.stopper.disarm()
	r.status.read()
	r.endRemaining()
	unwatch()
	r.reap()
	if r.exceeded.Load() {
		_, _ = r.stderr.Write([]byte("\n" + memory.Text(bound) + "\n"))
	}
	if err := r.status.failure(); err != nil {
		return nil, err
	}
	result := &Result{Duration: time.Since(r.started), Network: r.network}
	result.TimedOut, result.Cancelled = r.stopper.timedOut, r.stopper.cancelled
	result.ExitCode, result.Signal = exitStatus(r.cmd.ProcessState)
	if signal := r.status.signal(); signal != 0 {
		result.Signal = signal.String()
	}
	result.Stdout, result.Stderr = r.stdout.output(), r.stderr.output()
	return result, nil
}

// endRemaining waits for what the command left behind, and kills it if it does not end. The command has ended
// but is not reaped, so that its group's number is not reused.
func (r *run) endRemaining() {
	deadline, stopped := r.stopper.deadline()
	if !stopped {
		r.awaitDrain(pipeDelay)
		if r.status.clean() || !r.signalLeft(sigTerm) {
			return
		}
		deadline = time.Now().Add(r.Grace)
	}
	for pause := time.Millisecond; time.Now().Before(deadline) &&
		r.anyLeft(); pause = min(2*pause, 50*time.Millisecond) {
		time.Sleep(pause)
	}
	killGroup(r.cmd.Process)
	// Repeatedly, because a process may fork during the search.
	for end := time.Now().Add(killPatience); r.signalLeft(sigKill) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	r.awaitDrain(pipeDelay)
}

func (r *run) awaitDrain(patience time.Duration) {
	select {
	case <-r.drained:
		return
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.drained:
	case <-timer.C:
	}
}

// reap collects the exit status and ends the reading of output. Earlier output is read completely, however
// slowly.
func (r *run) reap() {
	_ = r.cmd.Wait()
	for end := time.Now().Add(readPatience); slices.ContainsFunc(r.outputs, unread) && time.Now().Before(end); {
		r.awaitDrain(time.Millisecond)
	}
	for _, pipe := range r.pipes {
		_ = pipe.Close()
	}
	<-r.drained
}

func (r *run) close() {
	closeAll(r.pipes)
	r.status.close()
	r.stdout.close()
	r.stderr.close()
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// stopper ends a run on timeout or cancellation.
type stopper struct {
	mu        sync.Mutex
	over      bool
	timedOut  bool
	cancelled bool
	end       time.Time
	disarms   []func() bool
}

func (s *stopper) arm(ctx context.Context, r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disarms = append(s.disarms, context.AfterFunc(ctx, func() {
		s.stop(r, errors.Is(ctx.Err(), context.DeadlineExceeded))
	}))
	if r.Timeout > 0 {
		s.disarms = append(s.disarms, time.AfterFunc(r.Timeout, func() { s.stop(r, true) }).Stop)
	}
}

// stop asks all processes to end, and kills them after the grace period.
func (s *stopper) stop(r *run, timedOut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.timedOut || s.cancelled {
		return
	}
	s.timedOut, s.cancelled = timedOut, !timedOut
	s.end = time.Now().Add(r.Grace)
	r.anyLeft() // notes the descendants before their parents end
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM)
	r.signalLeft(sigTerm)
	s.disarms = append(s.disarms, time.AfterFunc(r.Grace, func() { s.kill(r) }).Stop)
}

func (s *stopper) kill(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		killGroup(r.cmd.Process)
	}
}

// disarm is called when the command has ended: timers must not use its process number any more.
func (s *stopper) disarm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, stop := range s.disarms {
		stop()
	}
}

// deadline reports whether the run was stopped, and when its grace period ends.
func (s *stopper) deadline() (time.Time, bool) { return s.end, s.timedOut || s.cancelled }
