package workspace_test

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err, name)
	return n
}

// killLater starts cmd and kills it at a random moment after it reports that it has started.
func killLater(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", line)
	time.Sleep(rand.N(40 * time.Millisecond))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Empty(t, stderr.String())
}

func TestKilledWritersLeaveWholeFiles(t *testing.T) {
	testneed.NotShort(t, "races for seconds")
	dir := realTemp(t)
	files := []string{"replace", "update", "batch1", "batch2"}
	for _, name := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), block('-'), 0o644))
	}
	left := 0 // kills during a write
	kills := number(t, "TOOLHOST_KILLS", 20)
	for kill := 0; kill < kills || left == 0 && kill < 20*kills; kill++ {
		killLater(t, child("write", dir))
		for _, name := range files {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.True(t, isBlock(data), "%s is torn: %d bytes", name, len(data))
		}
		if data, err := os.ReadFile(filepath.Join(dir, "log")); err == nil {
			require.Empty(t, strings.ReplaceAll(string(data), "0123456789\n", ""), "log is torn")
		}
		temps, err := filepath.Glob(filepath.Join(dir, ".toolhost-tmp-*"))
		require.NoError(t, err)
		left += len(temps)
	}
	w := open(t, dir, workspace.Options{})
	_, err := w.WriteFile("replace", []byte("x"), workspace.WriteOptions{})
	require.NoError(t, err)
	requireNoTemp(t, dir)
	assert.Positive(t, left, "no kill came in the midst of a write, so they prove nothing")
}

// The same kills do tear writes in place.
func TestKilledWritersInPlaceTear(t *testing.T) {
	testneed.NotShort(t, "races for seconds")
	dir := realTemp(t)
	for range 100 {
		killLater(t, child("inplace", dir))
		data, err := os.ReadFile(filepath.Join(dir, "replace"))
		if err == nil && !isBlock(data) {
			return
		}
	}
	t.Fatal("no kill tore a file, so the kills prove nothing")
}

func TestSweep(t *testing.T) {
	dir := realTemp(t)
	stale := ".toolhost-tmp-999999-0123456789abcdef"
	plant(t, dir, stale, "x", "a/b/"+stale, "x", "a/.toolhost-tmp-notes", "kept", ".toolhost-tmp-1-xyz", "kept", "a/f",
		"kept")
	link := ".toolhost-tmp-999999-fedcba9876543210"
	require.NoError(t, os.Symlink("a", filepath.Join(dir, link)))
	w := open(t, dir, workspace.Options{})
	entries, err := w.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, entries, 2, "stale files are not listed")
	_, err = w.WriteFile("a/b/new", []byte("x"), workspace.WriteOptions{})
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "a/b", stale), "a write sweeps its directory")
	n, err := w.Sweep(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.NoFileExists(t, filepath.Join(dir, stale))
	_, err = os.Lstat(filepath.Join(dir, link))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.DirExists(t, filepath.Join(dir, "a"))
	assert.FileExists(t, filepath.Join(dir, "a/.toolhost-tmp-notes"))
	assert.FileExists(t, filepath.Join(dir, ".toolhost-tmp-1-xyz"))
}

// runAll runs the same child several times at once.
func runAll(t *testing.T, n int, name string, args ...string) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			out, err := child(name, args...).CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
	wg.Wait()
}

func TestProcessesLoseNoUpdate(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "count", "0")
	runAll(t, 4, "count", dir, "50")
	assert.Equal(t, "200", content(t, dir, "count"))
	requireNoTemp(t, dir)
}

func TestProcessesWithoutLockLoseUpdates(t *testing.T) {
	testneed.NotShort(t, "races for seconds")
	for range 10 {
		dir := realTemp(t)
		plant(t, dir, "count", "0")
		runAll(t, 4, "naive", dir, "200")
		if content(t, dir, "count") != "800" {
			return
		}
	}
	t.Fatal("nothing was lost without a lock, so the test proves nothing")
}

func TestGoroutinesLoseNoUpdate(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "count", "0")
	w, other := open(t, dir, workspace.Options{LockWait: turn}), open(t, dir, workspace.Options{LockWait: turn})
	var wg sync.WaitGroup
	for i := range 8 {
		view := []*workspace.Workspace{w, other}[i%2]
		wg.Go(func() {
			for range 10 {
				assert.NoError(t,
					view.Update("count", func(old []byte, _ os.FileInfo) ([]byte, error) { return plusOne(old) }))
			}
		})
	}
	wg.Wait()
	assert.Equal(t, "80", content(t, dir, "count"))
}

// A lock ends with its holder, even if killed.
func TestLockOfAnotherProcess(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "f", "old")
	cmd := child("hang", dir)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)

	w := open(t, dir, workspace.Options{LockWait: 50 * time.Millisecond})
	_, err = w.WriteFile("f", []byte("new"), workspace.WriteOptions{})
	requireCode(t, tool.Timeout, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = w.WithContext(ctx).WriteFile("f", []byte("new"), workspace.WriteOptions{})
	requireCode(t, tool.Timeout, err)
	assert.Equal(t, "old", content(t, dir, "f"))

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_, err = w.WriteFile("f", []byte("new"), workspace.WriteOptions{})
	require.NoError(t, err)
}
