package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
)

// host returns the path of toolhost built for this machine.
func (b *build) host(ctx context.Context) (string, error) {
	here := platform{runtime.GOOS, runtime.GOARCH}
	path := filepath.Join(b.temp, "host", name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	built, ok := b.programs[here]
	if !ok {
		var err error
		if built, err = b.compile(ctx, here); err != nil {
			return "", err
		}
	}
	return path, writeFiles(filepath.Dir(path), built)
}
