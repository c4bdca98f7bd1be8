package main

import (
	"context"
	"syscall"
)

// become has another program go on in this process.
func become(_ context.Context, path string, argv, env []string) error {
	return syscall.Exec(path, argv, env)
}
