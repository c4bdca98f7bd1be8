package session

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
)

// ShellKind is the kind of shells among tasks: users do not start them.
const ShellKind = "shell"

// Shell is a shell that keeps its directory, variables and functions between commands. It starts with the first
// command.
type Shell struct {
	sessions *Sessions
	spec     func() background.Spec

	mu  sync.Mutex
	now *Session
}

// NewShell returns a shell. spec runs it: a POSIX shell that reads commands from its input.
func NewShell(sessions *Sessions, spec func() background.Spec) *Shell {
	return &Shell{sessions: sessions, spec: spec}
}

// Ran is the outcome of a command.
type Ran struct {
	Output
	// ExitCode is the command's, -1 if there is none: the shell has ended, or was ended after the time limit.
	ExitCode int
	TimedOut bool
}

// Run runs a command line to its end, with an empty standard input. If it exceeds the limit, or ctx ends, the
// shell ends with it, and the next command gets a new one.
func (s *Shell) Run(ctx context.Context, command string, limit time.Duration) (*Ran, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	leave, err := now.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	// The command does not see the marker, which it could print.
	marker := "\n" + rand.Text() + ":"
	line := "eval " + quoted(command) + " </dev/null 9>&-\nprintf '\\n%s:%d\\n' " + marker[1:len(marker)-1] + " $? >&9\n"
	if err := now.Write(ctx, []byte(line)); err != nil {
		s.end(now)
		return nil, err
	}
	deadline := time.Now().Add(limit)
	o := now.Read(ctx, limit, marker)
	ran := &Ran{Output: o, ExitCode: -1}
	if !o.Found {
		ran.TimedOut = !o.Ended && ctx.Err() == nil
		s.end(now)
		if ctx.Err() != nil {
			return nil, tool.AsError(ctx.Err())
		}
		return ran, nil
	}
	ran.Text = strings.TrimSuffix(o.Text, marker)
	code := now.Read(ctx, max(time.Until(deadline), time.Second), "\n")
	ran.ExitCode, err = strconv.Atoi(strings.TrimSpace(code.Text))
	if err != nil {
		s.end(now)
		ran.ExitCode = -1
	}
	return ran, nil
}

// Restart ends the shell if it runs. The next command has a new one.
func (s *Shell) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil {
		s.end(s.now)
	}
}

func (s *Shell) end(now *Session) {
	s.now = nil
	if !now.Ended() {
		now.end("the shell was ended")
	}
}

func (s *Shell) running(ctx context.Context) (*Session, error) {
	if s.now != nil && !s.now.Ended() {
		return s.now, nil
	}
	spec := Spec{Spec: s.spec()}
	spec.Kind = ShellKind
	started, err := s.sessions.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	// The marker still comes if a command redirects output for good.
	if err := started.Write(ctx, []byte("exec 2>&1 9>&1\n")); err != nil {
		s.end(started)
		return nil, err
	}
	s.now = started
	return started, nil
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
