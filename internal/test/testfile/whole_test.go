package testfile_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testfile"
)

// A written program can be run at once, beside tests that start programs.
func TestAProgramCanBeRun(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 10 {
				path := filepath.Join(dir, fmt.Sprint(i, n))
				assert.NoError(t, testfile.WriteWhole(path, []byte("#!/bin/sh\necho it runs\n"), 0o755))
				out, err := exec.Command(path).Output()
				assert.NoError(t, err)
				assert.Equal(t, "it runs\n", string(out))
			}
		})
	}
	all.Wait()
}
