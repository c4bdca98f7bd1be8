package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// saver is another program that opens a file to save it at the last moment, and
// writes once its name leads to another file.
type saver struct {
	path, text string
	closes     bool
	done       chan time.Duration // the time since the name last led to the file
}

func (s saver) BeforeChange(context.Context, workspace.Before) error {
	before, err := os.Lstat(s.path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	go func() {
		last := time.Now()
		for end := last.Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			looked := time.Now()
			if now, err := os.Lstat(s.path); err != nil || !os.SameFile(now, before) {
				break
			}
			last = looked
		}
		_, _ = f.WriteString(s.text)
		if s.closes {
			f.Close()
		}
		s.done <- time.Since(last)
	}()
	return nil
}

// What another program that has the file open writes after it is replaced or
// removed is there in the end.
func TestBatchWaitsForASave(t *testing.T) {
	testneed.Leases(t)
	for name, change := range map[string]workspace.Change{
		"replaced": {Kind: workspace.Replace, Path: "a", Data: []byte("new")},
		"removed":  {Kind: workspace.Delete, Path: "a"},
		"expected": {Kind: workspace.Replace, Path: "a", Data: []byte("new"), Expect: workspace.Hash(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dir string
			var err error
			for range 20 { // a batch waits for a second, in which a busy machine may not run the other program
				dir = realTemp(t)
				plant(t, dir, "a", "")
				s := saver{path: filepath.Join(dir, "a"), text: "saved", closes: true, done: make(chan time.Duration, 1)}
				w, openErr := workspace.Open(dir, workspace.Options{Recorder: s})
				require.NoError(t, openErr)
				defer w.Close()
				err = w.Batch(context.Background(), []workspace.Change{change})
				if <-s.done < 300*time.Millisecond {
					break
				}
			}
			assert.Equal(t, tool.Conflict, tool.CodeOf(err), "%v", err)
			assert.Equal(t, ". drwxr-xr-x\na -rw-r--r-- \"saved\"\n", tree(t, dir))
		})
	}
}

// A file that another program keeps open for writing is still replaced.
func TestBatchWaitsForNobodyForever(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a", "A", "b", "B")
	for _, name := range []string{"a", "b"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		require.NoError(t, err)
		defer f.Close()
	}
	w, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Batch(context.Background(), []workspace.Change{
		{Kind: workspace.Replace, Path: "a", Data: []byte("new")},
		{Kind: workspace.Delete, Path: "b"},
	}))
	assert.Equal(t, ". drwxr-xr-x\na -rw-r--r-- \"new\"\n", tree(t, dir))
}
