// Package session runs programs that calls interact with, on a terminal or on pipes. Each is a background task:
// it is confined by its command, ends with the program that started it at the latest, and is listed among the
// tasks.
//
// One call at a time has a session (see [Session.Enter]). Changes by its programs belong to that call, until
// the next one.
package session

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/store/effects"
)

// Defaults of Options, and the default size of a terminal.
const (
	DefaultIdle   = 30 * time.Minute
	DefaultUnread = 1 << 20
	rows, columns = 24, 80
)

// writePatience is how long a program may take to read what is written to it.
const writePatience = 5 * time.Second

// Options configure Sessions. Zero values mean the defaults.
type Options struct {
	// Idle is how long a session may be unused before it is ended.
	Idle time.Duration
	// Unread bounds the output kept for the next read, in bytes: the first and the last half of a longer one.
	Unread int
}

// Sessions are those started by this process.
type Sessions struct {
	tasks   *background.Store
	options Options

	mu   sync.Mutex
	live map[string]*Session
}

// New returns the sessions started among the tasks of a store, which bounds their number.
func New(tasks *background.Store, o Options) *Sessions {
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	if o.Unread <= 0 {
		o.Unread = DefaultUnread
	}
	return &Sessions{tasks: tasks, options: o, live: make(map[string]*Session)}
}

// Spec is a program to run.
type Spec struct {
	background.Spec
	// OnTerminal gives the program a terminal of that size, instead of pipes.
	OnTerminal bool
	Size       proc.Size
}

// Session is a running or ended program.
type Session struct {
	of       *Sessions
	id       string
	owner    string
	terminal *proc.Terminal
	input    *os.File
	turns    *effects.Turns
	turn     chan struct{} // holds a token while no call has the turn
	ended    chan struct{}
	idle     *time.Timer

	mu     sync.Mutex
	pid    int
	unread unread
	news   chan struct{} // closed and replaced when there is more to read
}

// Start starts a session. The call that starts it must Enter it for its turn. Errors are those of
// [background.Store.Start].
func (s *Sessions) Start(ctx context.Context, spec Spec) (*Session, error) {
	n := &Session{
		of: s, owner: spec.Session, turn: make(chan struct{}, 1), ended: make(chan struct{}),
		news: make(chan struct{}), unread: unread{half: s.options.Unread / 2},
	}
	n.turn <- struct{}{}
	n.turns = effects.NewTurns(func() []string { return proc.Writing(n.pid) })
	leave := n.turns.Enter(ctx)
	defer leave()
	if err := n.connect(&spec); err != nil {
		return nil, err
	}
	spec.Turns, spec.OnOutput, spec.OnEnd = n.turns, n.took, sync.OnceFunc(func() { close(n.ended) })
	spec.OnStart = func(pid int) { n.pid = pid }
	task, err := s.tasks.Start(ctx, spec.Spec)
	if err != nil {
		if n.terminal != nil {
			n.terminal.Close()
		} else {
			_, _ = n.input.Close(), spec.Input.Close()
		}
		return nil, err
	}
	n.id = task.ID
	n.idle = time.AfterFunc(s.options.Idle, func() { n.end("it was idle for " + s.options.Idle.String()) })
	s.mu.Lock()
	s.live[n.id] = n
	s.mu.Unlock()
	go func() {
		<-n.ended
		n.idle.Stop()
		_ = n.input.Close()
		time.AfterFunc(s.options.Idle, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.live, n.id)
		})
	}()
	return n, nil
}

// connect makes the pipes or terminal of the session's input.
func (n *Session) connect(spec *Spec) (err error) {
	if !spec.OnTerminal {
		spec.Input, n.input, err = os.Pipe()
		if err != nil {
			return tool.Errorf(tool.Unavailable, "there is no pipe for the command: %w", err).
				Suggest("Close programs, and try again.")
		}
		return nil
	}
	if spec.Size.Rows == 0 || spec.Size.Columns == 0 {
		spec.Size = proc.Size{Rows: rows, Columns: columns}
	}
	n.terminal, err = proc.OpenTerminal(spec.Size)
	if err == nil {
		spec.Terminal, n.input = n.terminal, n.terminal.Host()
	}
	return err
}

// Find returns the session with an id, started by the host's session owner.
func (s *Sessions) Find(id, owner string) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.live[id]
	if n == nil || n.owner != owner {
		return nil, tool.Errorf(tool.NotFound, "there is no terminal session %q", id).
			Suggest("Start the program again: a session ends with its program, and with the server.")
	}
	return n, nil
}

// ID is the id of the session and its task.
func (n *Session) ID() string { return n.id }

// Enter waits for the turn, and gives it to the call of ctx until leave.
func (n *Session) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case <-n.turn:
	case <-ctx.Done():
		return nil, tool.AsError(ctx.Err())
	}
	n.idle.Reset(n.of.options.Idle)
	over := n.turns.Enter(ctx)
	return func() {
		over()
		n.turn <- struct{}{}
	}, nil
}

// Write writes to the program, as if typed on a terminal.
func (n *Session) Write(ctx context.Context, text []byte) error {
	_ = n.input.SetWriteDeadline(time.Now().Add(writePatience))
	defer context.AfterFunc(ctx, func() { _ = n.input.SetWriteDeadline(time.Now()) })()
	written, err := n.input.Write(text)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tool.Errorf(tool.Timeout, "the program does not read its input: it has taken %d of %d bytes", written,
			len(text)).Suggest("Wait until it does, interrupt it, or end it.")
	}
	return tool.Errorf(tool.Conflict, "the program reads no input any more").
		Suggest("Start it again; what it printed may say why.")
}

// CloseInput ends the input of a program on pipes.
func (n *Session) CloseInput() {
	if n.terminal == nil {
		_ = n.input.Close()
	}
}

// Resize sets the terminal's size.
func (n *Session) Resize(size proc.Size) error {
	if n.terminal == nil {
		return tool.Errorf(tool.Unsupported, "the program runs without a terminal, which has no size").
			Suggest("Start it on a terminal.")
	}
	return n.terminal.Resize(size)
}

// Silent reports whether typed text is not shown, as at a password prompt.
func (n *Session) Silent() bool { return n.terminal != nil && !n.Ended() && n.terminal.Silent() }

// Signal sends a signal to the programs in the foreground.
func (n *Session) Signal(signal syscall.Signal) error {
	if n.Ended() {
		return nil
	}
	if n.terminal != nil {
		return n.terminal.Signal(signal)
	}
	return syscall.Kill(-n.pid, signal)
}

// Ended reports whether the program and its descendants have ended.
func (n *Session) Ended() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

// Task returns the session's task, with its outcome once it has ended.
func (n *Session) Task() (*background.Task, error) { return n.of.tasks.Get(n.id) }

// End ends the program and its descendants.
func (n *Session) End(ctx context.Context) error {
	_, _, err := n.of.tasks.Kill(ctx, n.id)
	return err
}

func (n *Session) end(reason string) {
	_, _ = n.of.tasks.EndAll(context.Background(), func(t *background.Task) bool { return t.ID == n.id }, reason)
}
