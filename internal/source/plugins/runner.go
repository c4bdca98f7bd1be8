package plugins

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/toolhost/toolhost/internal/run/memory"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// termGrace is how long a process has to end after SIGTERM, drainGrace how long the pipes are read after its end
// if still open.
const (
	termGrace  = time.Second
	drainGrace = 500 * time.Millisecond
)

// Launch is a plugin to be started, for Options.Prepare.
type Launch struct {
	// Plugin is the plugin's name.
	Plugin string
	// Spec is its declaration.
	Spec Spec
	// Cmd is the command. Prepare may change path, arguments, environment and process attributes, but not the
	// standard streams. ExtraFiles are closed after the start.
	Cmd *exec.Cmd
	// SocketDir is the required directory of the plugin's socket.
	SocketDir string
}

// guardedRunner runs the process for go-plugin, and protects the host from both:
//
//   - the process gets a pipe as standard input, which ends when the host does,
//     and not the host's own;
//   - it gets only the environment that it was granted;
//   - it leads a process group, and ends with everything it started;
//   - its standard output reaches go-plugin only as the handshake line;
//   - its standard error does not reach go-plugin at all;
//   - ending it takes no longer than the graces.
type guardedRunner struct {
	plugin    *plugin
	binary    *binary
	cmd       *exec.Cmd
	socketDir string
	marker    string
	lifeline  *os.File
	group     processGroup

	toClient struct{ out, err *io.PipeReader }
	closers  struct{ out, err *io.PipeWriter }
	output   *output

	launchError error // why the process did not start
	refused     error // why its handshake was rejected
	timedOut    atomic.Bool
	stopOnce    sync.Once
	launching   sync.Mutex
	halted      bool         // by stop; nothing may be started any more
	started     atomic.Int64 // the process id
	memory      *memory.Bound
	unwatch     func()        // ends watching its memory; nil if unwatched
	exited      chan struct{} // closed when process, group and output are done
}

var _ runner.Runner = (*guardedRunner)(nil)

func newRunner(p *plugin) *guardedRunner {
	r := &guardedRunner{plugin: p, exited: make(chan struct{}), marker: runMarker + rand.Text()}
	r.toClient.out, r.closers.out = io.Pipe()
	r.toClient.err, r.closers.err = io.Pipe()
	r.output = &output{logger: p.manager.logger.With("plugin", p.spec.Name), redact: p.manager.options.Redact}
	if said := p.manager.options.Said; said != nil {
		r.output.said = func(line string) { said(p.spec.Name, line) }
	}
	return r
}

// runMarker begins the environment variable that marks a plugin's descendants, even in other groups.
const runMarker = "TOOLHOST_PLUGIN_RUN="

func (r *guardedRunner) prepare() error {
	b, err := r.plugin.openBinary()
	if err != nil {
		return err
	}
	r.binary = b
	return nil
}

// adopt is go-plugin's RunnerFunc: it takes what go-plugin passes to the process.
func (r *guardedRunner) adopt(_ hclog.Logger, spec *exec.Cmd, socketDir string) (runner.Runner, error) {
	r.socketDir = socketDir
	var passed []string
	if r.plugin.spec.Shipped { // they connect for the commands that they confine, and do not pass on proxies
		passed = network.ProxyVariables
	}
	r.cmd = &exec.Cmd{
		Path: r.binary.path,
		Args: append([]string{r.binary.path}, r.plugin.arguments()...),
		Dir:  r.plugin.manager.options.Workspace.Root,
		Env:  slices.Concat(proc.Environ(r.plugin.spec.Env, passed...), spec.Env, []string{r.marker}),
	}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a session without a terminal
	tieToHost(r.cmd.SysProcAttr)
	var detach func()
	r.memory, detach = memory.Attach(r.cmd)
	defer detach()
	if prepare := r.plugin.manager.options.Prepare; prepare != nil {
		l := Launch{Plugin: r.plugin.spec.Name, Spec: r.plugin.spec, Cmd: r.cmd, SocketDir: socketDir}
		if err := prepare(l); err != nil {
			r.launchError = err
			return nil, err
		}
	}
	if r.cmd.Path == r.binary.path {
		r.cmd.Path = r.binary.verifiedPath()
	}
	return r, nil
}

func (p *plugin) arguments() []string {
	if p.spec.Shipped {
		return append([]string{"internal", "plugin", p.spec.Name}, p.spec.Args...)
	}
	return p.spec.Args
}

// Start starts the process. The starting thread must live as long as it does, because the kernel takes the end
// of that thread for the host's.
func (r *guardedRunner) Start(context.Context) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		readers, err := r.launch()
		started <- err
		if err == nil {
			r.reap(readers)
		}
	}()
	r.launchError = <-started
	return r.launchError
}

// launch starts the process with pipes of our own, and returns our ends.
func (r *guardedRunner) launch() ([]*os.File, error) {
	r.launching.Lock()
	defer r.launching.Unlock()
	defer closeAll(r.cmd.ExtraFiles)
	if r.halted {
		return nil, errors.New("stopped before the start")
	}
	defer r.binary.close()
	var pipes pipes
	stdin, lifeline := pipes.make()
	stdout, outEnd := pipes.make()
	stderr, errEnd := pipes.make()
	if pipes.err != nil {
		pipes.close()
		return nil, pipes.err
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = stdin, outEnd, errEnd
	err := r.cmd.Start()
	closeAll([]*os.File{stdin, outEnd, errEnd})
	if err != nil {
		pipes.close()
		return nil, err
	}
	r.lifeline = lifeline
	r.group.started(r.cmd)
	if !r.plugin.spec.Shipped { // a shipped one bounds its commands itself
		bound := r.memory.Bytes()
		r.unwatch = memory.Watch(r.cmd.Process.Pid, bound, func() {
			r.output.logLine("stderr", []byte(memory.Text(bound)))
		})
	}
	r.started.Store(int64(r.cmd.Process.Pid))
	if err := r.binary.unchanged(); err != nil {
		r.refused = err
		r.group.kill(r.marker)
	}
	return []*os.File{stdout, stderr}, nil
}

type pipes struct {
	files []*os.File
	err   error
}

func (p *pipes) make() (read, write *os.File) {
	if p.err != nil {
		return nil, nil
	}
	read, write, p.err = os.Pipe()
	if p.err == nil {
		p.files = append(p.files, read, write)
	}
	return read, write
}

func (p *pipes) close() {
	for _, f := range p.files {
		f.Close()
	}
}

// reap reads the output, waits for the process to end, kills what it left behind and notifies all waiters.
func (r *guardedRunner) reap(readers []*os.File) {
	var reading sync.WaitGroup
	reading.Go(func() { r.readStdout(readers[0]) })
	reading.Go(func() { r.output.read(readers[1], "stderr") })
	r.group.reap(r.cmd, r.marker, r.unwatch)
	late := time.AfterFunc(drainGrace, func() { closeAll(readers) })
	reading.Wait()
	late.Stop()
	closeAll(readers)
	r.lifeline.Close()
	r.group.close()
	close(r.exited)
	r.closers.out.Close()
	r.closers.err.Close()
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// stop ends the process and its descendants: it closes the lifeline, sends SIGTERM and, after a grace, SIGKILL, and
// waits. A process not started yet never will be.
func (r *guardedRunner) stop() {
	r.launching.Lock()
	r.halted = true
	r.launching.Unlock()
	if r.started.Load() != 0 {
		r.stopOnce.Do(r.terminate)
		<-r.exited
	}
}

// cleanUp removes what is left of a process that ended or never started.
func (r *guardedRunner) cleanUp() {
	if r.binary != nil {
		r.binary.close()
	}
	if r.socketDir != "" {
		os.RemoveAll(r.socketDir)
	}
}

func (r *guardedRunner) terminate() {
	r.lifeline.Close()
	r.group.terminate()
	select {
	case <-r.exited:
	case <-time.After(termGrace):
		r.group.kill(r.marker)
	}
}

// Wait waits for the end of the process.
func (r *guardedRunner) Wait(context.Context) error {
	<-r.exited
	return nil
}

// Kill ends the process; see stop.
func (r *guardedRunner) Kill(context.Context) error {
	r.stop()
	return nil
}

// Stdout gives go-plugin only the handshake line.
func (r *guardedRunner) Stdout() io.ReadCloser { return r.toClient.out }

// Stderr gives go-plugin nothing: it would panic on some lines.
func (r *guardedRunner) Stderr() io.ReadCloser { return r.toClient.err }

// Name is the plugin's program.
func (r *guardedRunner) Name() string { return filepath.Base(r.binary.path) }

// ID is the process id, empty before the start.
func (r *guardedRunner) ID() string {
	if pid := r.pid(); pid != 0 {
		return strconv.Itoa(pid)
	}
	return ""
}

// Diagnose adds nothing: startError explains.
func (r *guardedRunner) Diagnose(context.Context) string { return "" }

// PluginToHost accepts the plugin's address if only the plugin can listen there: a socket in the private directory.
func (r *guardedRunner) PluginToHost(network, address string) (string, string, error) {
	switch {
	case network == "unix" && filepath.Dir(filepath.Clean(address)) == filepath.Clean(r.socketDir):
		return network, address, nil
	case network == "unix":
		r.refused = errors.New("listens on a socket outside the directory that it was given in PLUGIN_UNIX_SOCKET_DIR")
	default:
		r.refused = fmt.Errorf("listens on %s, but has to listen on a unix socket", network)
	}
	return "", "", r.refused
}

// HostToPlugin changes nothing: both see the same file system.
func (r *guardedRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

func (r *guardedRunner) pid() int { return int(r.started.Load()) }

func (r *guardedRunner) hasExited() bool {
	if r.started.Load() == 0 {
		return false
	}
	select {
	case <-r.exited:
		return true
	case <-time.After(drainGrace):
		return false
	}
}

func (r *guardedRunner) exitStatus() string {
	select {
	case <-r.exited:
		if r.cmd == nil {
			return "the connection ended"
		}
		return r.cmd.ProcessState.String()
	default:
		return "the connection broke"
	}
}
