//go:build !unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// become runs another program and ends with it.
func become(ctx context.Context, path string, argv, env []string) error {
	c := exec.CommandContext(ctx, path, argv[1:]...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &exitError{code: exit.ExitCode()}
	}
	return err
}
