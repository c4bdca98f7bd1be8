package undo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// childEnv makes the test binary change files instead of testing.
const childEnv = "TOOLHOST_UNDO_CHILD"

func TestMain(m *testing.M) {
	if id := os.Getenv(childEnv); id != "" {
		run := func() error { return child(id, os.Args[1], os.Args[2] == "forever") }
		if os.Args[2] == "undo" {
			run = func() error { return undoing(os.Args[1]) }
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child changes files that all children share, and some of its own.
func child(id, dir string, forever bool) error {
	store, err := undo.Open(storeOf(dir), undo.Options{})
	if err != nil {
		return err
	}
	ws, err := workspace.Open(dir, workspace.Options{Recorder: store.Recorder("", "", 0), LockWait: 5 * time.Minute})
	if err != nil {
		return err
	}
	defer ws.Close()
	for i := 0; forever || i < 20; i++ {
		ctx := undo.WithCall(context.Background(), undo.Call{Session: "s", ID: fmt.Sprintf("%s-%d", id, i)})
		size := 1 << 10
		if i%2 == 0 {
			size = 100 << 10
		}
		data := []byte(strings.Repeat(fmt.Sprintf("%s %d\n", id, i), size/8))
		_, err1 := ws.WithContext(ctx).Append("shared", []byte(id+"\n"), workspace.WriteOptions{})
		_, err2 := ws.WithContext(ctx).WriteFile(id, data, workspace.WriteOptions{})
		err3 := ws.Batch(ctx, []workspace.Change{{Kind: workspace.Replace, Path: "b1", Data: data},
			{Kind: workspace.Replace, Path: "b2", Data: data}})
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
	}
	return nil
}

func start(t *testing.T, f *fixture, id, how string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], f.dir, how)
	cmd.Env = append(os.Environ(), childEnv+"="+id)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	return cmd
}

func TestManyProcesses(t *testing.T) {
	f := newFixture(t, undo.Options{})
	f.plant("shared", "")
	f.plant("b1", "1")
	f.plant("b2", "2")
	before := f.tree()
	var cmds []*exec.Cmd
	for i := range 4 {
		cmds = append(cmds, start(t, f, fmt.Sprint("p", i), "once"))
	}
	for _, c := range cmds {
		require.NoError(t, c.Wait())
	}
	after := f.tree()
	calls, err := f.store.Calls(context.Background(), undo.Filter{Session: "s"})
	require.NoError(t, err)
	assert.Len(t, calls, 80)
	out := f.undo(undo.Selection{All: true})
	assert.Equal(t, before, f.tree())
	f.undo(undo.Selection{Call: out.Call})
	assert.Equal(t, after, f.tree())
}

func TestKill(t *testing.T) {
	f := newFixture(t, undo.Options{})
	f.plant("shared", "")
	f.plant("b1", "1")
	f.plant("b2", "2")
	before := f.tree()
	for i := range 15 {
		cmd := start(t, f, fmt.Sprint("p", i), "forever")
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(f.dir, fmt.Sprint("p", i)))
			return err == nil
		}, time.Minute, time.Duration(i+1)*time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	_, err := f.ws.Sweep(context.Background())
	require.NoError(t, err)
	f.undo(undo.Selection{All: true})
	assert.Equal(t, before, f.tree())
}

func TestConcurrentCalls(t *testing.T) {
	f := newFixture(t, undo.Options{MaxBytes: 8 << 20})
	ws := f.ws
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 10 {
				ctx := undo.WithCall(context.Background(), undo.Call{Session: "s", ID: fmt.Sprint("c", i)})
				_, err := ws.WithContext(ctx).WriteFile(fmt.Sprintf("d%d/f", i%4), fmt.Appendf(nil, "%d %d", i, n),
					workspace.WriteOptions{Parents: true})
				assert.NoError(t, err)
				_, err = f.store.Changes(context.Background(), undo.Filter{Limit: 3})
				assert.NoError(t, err)
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			_, err := f.store.Prune(context.Background())
			assert.NoError(t, err)
		}
	})
	wg.Wait()
	list, err := f.store.Changes(context.Background(), undo.Filter{})
	require.NoError(t, err)
	writes := 0
	for _, c := range list {
		if c.Kind != workspace.Mkdir {
			writes++
		}
	}
	assert.Equal(t, 80, writes)

	// Only one of many undos of the same call succeeds.
	var done, refused int
	var mu sync.Mutex
	for range 4 {
		wg.Go(func() {
			_, err := f.store.Undo(context.Background(), ws, undo.Selection{Session: "s", All: true})
			mu.Lock()
			defer mu.Unlock()
			switch tool.CodeOf(err) {
			case "":
				done++
			case tool.NotFound:
				refused++
			default:
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 1, done)
	assert.Equal(t, 3, refused)
	assert.NotContains(t, f.tree(), "d0")
}

// TestHalfAnUndo makes a later step of an undo fail: the earlier ones are taken back.
func TestHalfAnUndo(t *testing.T) {
	f := stage(t)
	require.NoError(t, f.as("c1").Rename("a", "moved", false))
	f.write("c1", "moved", "changed")
	f.write("c1", "d/b", "changed")
	require.NoError(t, f.as("c1").Remove("wide"))
	after := f.tree()
	blocked, err := workspace.Open(f.dir, workspace.Options{
		Protect: []string{"a"}, Recorder: f.store.Recorder("", "", 0),
	})
	require.NoError(t, err)
	defer blocked.Close()
	_, err = f.store.Undo(context.Background(), blocked, undo.Selection{})
	assert.Equal(t, tool.PermissionDenied, tool.CodeOf(err))
	assert.Equal(t, after, f.tree())
	f.undo(undo.Selection{})
	assert.Contains(t, f.tree(), `"A\n"`)
}
