package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// Exit codes. They are a public interface: scripts rely on them.
const (
	exitOK          = 0
	exitFailed      = 1   // the tool failed
	exitUsage       = 2   // wrong use of the command line, or a broken agent.hcl
	exitDenied      = 3   // policy or user said no
	exitTimeout     = 124 // as timeout(1)
	exitInterrupted = 130 // as a shell reports SIGINT
)

// exitError ends the program with a code, after its message if any.
type exitError struct {
	code int
	err  error // nil if already reported
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

// usagef returns a usage error with a next step.
func usagef(suggestion, format string, args ...any) error {
	return usage(tool.Errorf(tool.InvalidArgument, format, args...).Suggest("%s", suggestion))
}

// unknownName marks the error for an unknown name on the command line as a usage error.
func unknownName(given bool, err error) error {
	if given && tool.CodeOf(err) == tool.NotFound {
		return usage(err)
	}
	return err
}

func exitCode(ctx context.Context, o *host.Outcome) int {
	if o.Err == nil {
		return exitOK
	}
	switch code := o.Err.Code; {
	case code == tool.Denied:
		return exitDenied
	case code == tool.Timeout:
		return exitTimeout
	case code == tool.Cancelled && ctx.Err() != nil:
		return exitInterrupted
	case !o.Valid && (code == tool.NotFound || code == tool.InvalidArgument):
		return exitUsage
	}
	return exitFailed
}

func codeOf(err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	switch tool.CodeOf(err) {
	case tool.Denied:
		return exitDenied
	case tool.Timeout:
		return exitTimeout
	case tool.Cancelled:
		return exitInterrupted
	}
	return exitFailed
}

// explainUsage makes c and its subcommands print their usage on wrong use: the wrong number of
// arguments, or an unknown subcommand.
func explainUsage(c *cobra.Command) {
	for _, sub := range c.Commands() {
		explainUsage(sub)
	}
	if c.HasParent() && c.Example == "" {
		c.Example = examplesOf(c)
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.DisableFlagsInUseLine = true
		c.Args, c.RunE = cobra.ArbitraryArgs, group
		return
	}
	if c.Name() == "help" {
		c.Args = helpTopic
		return
	}
	takes := c.Args
	if takes == nil {
		takes = cobra.ArbitraryArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if takes(c, args) == nil {
			return nil
		}
		next := "Write: " + strings.TrimSuffix(c.UseLine(), " [flags]") + " (" + c.CommandPath() + " --help tells more)"
		if len(args) == 0 {
			return usagef(next, "an argument is missing")
		}
		return usagef(next, "%s does not take these arguments: %s", c.CommandPath(), show.Argv(args))
	}
}

// examplesOf gives a command without examples the first of each subcommand, and cobra's commands
// theirs.
func examplesOf(c *cobra.Command) string {
	made := map[string]string{
		"toolhost help":                  "  toolhost help call",
		"toolhost completion bash":       "  source <(toolhost completion bash)",
		"toolhost completion fish":       "  toolhost completion fish | source",
		"toolhost completion powershell": "  toolhost completion powershell | Out-String | Invoke-Expression",
		"toolhost completion zsh":        "  source <(toolhost completion zsh)",
	}
	if one := made[c.CommandPath()]; one != "" {
		return one
	}
	var lines []string
	for _, sub := range c.Commands() {
		if first, _, _ := strings.Cut(sub.Example, "\n"); first != "" {
			lines = append(lines, first)
		}
	}
	return strings.Join(lines, "\n")
}

func helpTopic(c *cobra.Command, args []string) error {
	if found, rest, err := c.Root().Find(args); err == nil && len(rest) > 0 && found.HasSubCommands() {
		return group(found, rest)
	}
	return nil
}

// group runs a command that only has subcommands.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	next := c.CommandPath() + " --help lists what there is."
	if near := nearest.Name(args[0], names); near != "" {
		next = "Did you mean " + c.CommandPath() + " " + near + "? " + next
	}
	return usagef(next, "unknown command %q for %q", args[0], c.CommandPath())
}

// sink is the standard output. It keeps the first write error, so that lost output does not count as
// success.
type sink struct {
	io.Writer
	failed sync.Once
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		s.failed.Do(func() { s.err = err })
	}
	return n, err
}

// isIO reports whether an error is the system's, and so not a usage error.
func isIO(err error) bool {
	var path *fs.PathError
	var errno syscall.Errno
	return errors.As(err, &path) || errors.As(err, &errno)
}
