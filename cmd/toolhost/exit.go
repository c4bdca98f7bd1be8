package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// Exit codes. They are part of the interface: scripts rely on them.
const (
	exitOK          = 0
	exitFailed      = 1   // the tool failed
	exitUsage       = 2   // wrong use of the command line, or a broken agent.hcl
	exitDenied      = 3   // policy or user said no
	exitTimeout     = 124 // as timeout(1)
	exitInterrupted = 130 // as a shell reports SIGINT
)

// exitError ends the program with a code, after its message if there is one.
type exitError struct {
	code int
	err  error // nil: everything has been said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks err as a mistake of whoever typed the command.
func usage(err error) error { return &exitError{exitUsage, err} }

// usagef is usage of a new error with a next step.
func usagef(suggestion, format string, args ...any) error {
	return usage(tool.Errorf(tool.InvalidArgument, format, args...).Suggest("%s", suggestion))
}

// unknownName marks the error of a name that the command line gave and that
// nothing has as wrong usage.
func unknownName(given bool, err error) error {
	if given && tool.CodeOf(err) == tool.NotFound {
		return usage(err)
	}
	return err
}

// exitCode is the code for how a call came out.
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

// codeOf is the exit code for an error of a command.
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
