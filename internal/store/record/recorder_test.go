package record_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
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
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const (
	workerEnv = "TOOLHOST_RECORD_TEST_WORKER"
	killedEnv = "TOOLHOST_RECORD_TEST_KILLED"
)

// TestMain also runs the test binary as another writing process, which writes events and prints its steps.
func TestMain(m *testing.M) {
	if root := os.Getenv(workerEnv); root != "" {
		os.Exit(work(root))
	}
	if root := os.Getenv(killedEnv); root != "" {
		os.Exit(recordUntilKilled(root))
	}
	os.Exit(m.Run())
}

func work(root string) int {
	maxBytes, _ := strconv.ParseInt(os.Getenv("MAX"), 10, 64)
	r, err := record.New(record.Options{Root: root, State: stateOf(root), Copy: true, MaxBytes: maxBytes})
	if err != nil {
		return 1
	}
	defer r.Close()
	for i := range 200 {
		step, err := r.Step(context.Background(), "s")
		if err != nil || r.Event(context.Background(), "s", "e",
			map[string]any{"pid": os.Getpid(), "i": i, "pad": strings.Repeat("x", 100+i)}) != nil {
			return 1
		}
		fmt.Println(step)
	}
	return 0
}

func recorder(t *testing.T, change ...func(*record.Options)) *record.Recorder {
	t.Helper()
	o := record.Options{Root: t.TempDir(), Copy: true,
		Now: func() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.FixedZone("x", 3600)) }}
	for _, c := range change {
		c(&o)
	}
	if o.State == "" {
		o.State = stateOf(o.Root)
	}
	r, err := record.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// stateOf returns the state directory of a test's workspace.
func stateOf(root string) string { return root + "-state" }

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func TestEventLines(t *testing.T) {
	r := recorder(t)
	const stamp = `"timestamp":"2026-05-04T02:02:01.123456Z"`
	for _, c := range []struct {
		name    string
		payload any
		want    string
	}{
		{"a", struct {
			Z string `json:"z"`
			A int    `json:"a"`
		}{"<&>", 1}, `{"event":"a",` + stamp + `,"z":"<&>","a":1}`},
		{"nothing", nil, `{"event":"nothing",` + stamp + `}`},
		{"empty", map[string]any{}, `{"event":"empty",` + stamp + `}`},
		{"list", []int{1, 2}, `{"event":"list",` + stamp + `,"payload":[1,2]}`},
		{"text", "x\ny", `{"event":"text",` + stamp + `,"payload":"x\ny"}`},
		{"clash", map[string]any{"event": 1}, `{"event":"clash",` + stamp + `,"payload":{"event":1}}`},
		{"nested", map[string]any{"x": map[string]any{"event": 1}}, `{"event":"nested",` + stamp + `,"x":{"event":1}}`},
		{"raw", json.RawMessage(`{"b": 1,  "a": "ü"}`), `{"event":"raw",` + stamp + `,"b":1,"a":"ü"}`},
	} {
		require.NoError(t, r.Event(t.Context(), "s", c.name, c.payload), c.name)
		got := lines(t, filepath.Join(r.ArtifactDir("s"), "events.jsonl"))
		assert.Equal(t, c.want, got[len(got)-1], c.name)
	}
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(r.Event(t.Context(), "s", "bad", func() {})))
}

func TestLongTextsAreCut(t *testing.T) {
	r := recorder(t)
	require.NoError(t,
		r.Event(t.Context(), "s", "long", map[string]any{"content": strings.Repeat("é", 20_000), "short": "x"}))
	require.NoError(t, r.Event(t.Context(), "s", "wide", map[string]any{"list": make([]int, 400_000)}))
	got := lines(t, filepath.Join(r.ArtifactDir("s"), "events.jsonl"))
	assert.Contains(t, got[0], `é[... 23616 bytes left out]","short":"x"}`)
	assert.Contains(t, got[1], `"payload_bytes_left_out":800`)
	assert.Less(t, len(got[1]), 200)
}

func TestStepsCount(t *testing.T) {
	r := recorder(t)
	for want := 1; want <= 3; want++ {
		got, err := r.Step(t.Context(), "s")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	other, err := r.Step(t.Context(), "t")
	require.NoError(t, err)
	assert.Equal(t, 1, other, "sessions count apart")
	require.NoError(t, r.End("s"))
	next, err := r.Step(t.Context(), "s")
	require.NoError(t, err)
	assert.Equal(t, 4, next, "the count goes on after the files were closed")
}

// Several processes and goroutines write to one session: every step is given once, every line is whole and none
// is missing.
func TestSeveralProcesses(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	outs := make([]bytes.Buffer, 4)
	for i := range outs {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerEnv+"="+root)
		cmd.Stdout = &outs[i]
		require.NoError(t, cmd.Start())
		wg.Go(func() { assert.NoError(t, cmd.Wait()) })
	}
	wg.Wait()
	seen := map[string]bool{}
	for i := range outs {
		for scan := bufio.NewScanner(&outs[i]); scan.Scan(); {
			assert.False(t, seen[scan.Text()], "step %s was given twice", scan.Text())
			seen[scan.Text()] = true
		}
	}
	assert.Len(t, seen, 800)
	r := recorder(t, func(o *record.Options) { o.Root = root })
	step, err := r.Step(t.Context(), "s")
	require.NoError(t, err)
	assert.Equal(t, 801, step)
	assert.Len(t, read(t, r, record.Filter{}), 800)
	assert.Len(t, lines(t, filepath.Join(r.ArtifactDir("s"), "events.jsonl")), 800)
}

// Rotation by several processes keeps every line that it does not report as dropped, and the files stay
// bounded.
func TestRotation(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerEnv+"="+root, "MAX=20000")
		require.NoError(t, cmd.Start())
		wg.Go(func() { assert.NoError(t, cmd.Wait()) })
	}
	wg.Wait()
	r := recorder(t, func(o *record.Options) { o.Root = root })
	dir := r.ArtifactDir("s")
	for _, name := range []string{"events.jsonl", "events.1.jsonl"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Less(t, info.Size(), int64(22_000), name)
	}
	var rotated struct {
		Dropped int64 `json:"dropped_bytes"`
	}
	for _, line := range lines(t, filepath.Join(dir, "events.jsonl")) {
		if strings.HasPrefix(line, `{"event":"events_rotated"`) {
			require.NoError(t, json.Unmarshal([]byte(line), &rotated))
		}
	}
	assert.Greater(t, rotated.Dropped, int64(10_000))
	assert.Len(t, read(t, r, record.Filter{}), 600, "the record has all of them")
}

func TestSessionNames(t *testing.T) {
	for _, name := range []string{"cli", "A.b_c-1", strings.Repeat("a", 100), "com10", "console"} {
		assert.NoError(t, record.ValidSession(name), "%q", name)
	}
	r := recorder(t)
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "../x", ".hidden", "-x", "a\x00", "ü", "a b", "nul",
		"COM1.txt", "x.", strings.Repeat("a", 101)} {
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(record.ValidSession(name)), "%q", name)
		assert.Error(t, r.Event(t.Context(), name, "e", nil))
		assert.Empty(t, r.ArtifactDir(name))
	}
}

// Links in a workspace do not lead the record out of it.
func TestLinksDoNotLeadOut(t *testing.T) {
	outside := t.TempDir()
	r := recorder(t)
	root := filepath.Dir(filepath.Dir(filepath.Dir(r.ArtifactDir("s"))))
	require.NoError(t, os.Mkdir(filepath.Join(root, ".agent"), 0o755))
	if err := os.Symlink(outside, filepath.Join(root, ".agent", "runs")); err != nil {
		testneed.Missing(t, "symbolic links cannot be made here")
	}
	assert.Equal(t, tool.Unavailable, tool.CodeOf(r.Event(t.Context(), "s", "e", nil)))

	require.NoError(t, os.Remove(filepath.Join(root, ".agent", "runs")))
	require.NoError(t, os.MkdirAll(r.ArtifactDir("s"), 0o755))
	victim := filepath.Join(outside, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("x"), 0o600))
	for _, name := range []string{"events.jsonl", "steps"} {
		require.NoError(t, os.Symlink(victim, filepath.Join(r.ArtifactDir("s"), name)))
	}
	assert.Error(t, r.Event(t.Context(), "s", "e", nil))
	stateless, err := record.New(record.Options{Root: root})
	require.NoError(t, err)
	defer stateless.Close()
	_, err = stateless.Step(t.Context(), "s")
	assert.Error(t, err)
	data, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "x", string(data))
}

func TestRunsIgnoreThemselvesInGit(t *testing.T) {
	r := recorder(t)
	require.NoError(t, r.Event(t.Context(), "s", "e", nil))
	root := filepath.Dir(filepath.Dir(filepath.Dir(r.ArtifactDir("s"))))
	for _, args := range [][]string{{"init", "-q"}, {"status", "--porcelain", "--untracked-files=all"}} {
		assert.Empty(t, testgit.Run(t, root, args...))
	}
}

func TestNamesOfArtifacts(t *testing.T) {
	assert.Equal(t, "diffs/step_0007.patch", record.DiffName(7))
	assert.Equal(t, "logs/tool_step_0012_stderr.txt", record.LogName(12, "stderr"))
}

func TestSingleRunDirectory(t *testing.T) {
	dir := t.TempDir()
	r := recorder(t, func(o *record.Options) { o.Root, o.Dir, o.Single = dir, ".", true })
	require.NoError(t, r.Event(t.Context(), "s", "e", nil))
	assert.Equal(t, dir, r.ArtifactDir("s"))
	assert.FileExists(t, filepath.Join(dir, "events.jsonl"))
	assert.NoFileExists(t, filepath.Join(dir, ".gitignore"))
}

func TestPruneCopies(t *testing.T) {
	now := time.Now()
	r := recorder(t, func(o *record.Options) { o.Now = func() time.Time { return now } })
	ages := map[string]time.Duration{"ancient/logs/a": 40 * 24 * time.Hour, "mixed/logs/old": 20 * 24 * time.Hour,
		"mixed/logs/recent": 2 * time.Hour, "mixed/logs/busy": 30 * time.Second}
	for name, age := range ages {
		file := filepath.Join(filepath.Dir(r.ArtifactDir("x")), filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, make([]byte, 1000), 0o644))
		require.NoError(t, os.Chtimes(file, now, now.Add(-age)))
	}
	left := func() (names []string) {
		dir := filepath.Dir(r.ArtifactDir("x"))
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				name, _ := filepath.Rel(dir, path)
				names = append(names, filepath.ToSlash(name))
			}
			return err
		}))
		return names
	}
	for _, step := range []struct {
		limits record.Limits
		want   record.Copies
		left   []string
	}{
		{record.Limits{}, record.Copies{Removed: 1, Left: 3000}, []string{"mixed/logs/busy", "mixed/logs/old", "mixed/logs/recent"}},
		{record.Limits{Bytes: 2000}, record.Copies{Removed: 1, Left: 2000}, []string{"mixed/logs/busy", "mixed/logs/recent"}},
		{record.Limits{Bytes: 1999}, record.Copies{Removed: 1, Left: 1000}, []string{"mixed/logs/busy"}},
		{record.Limits{Bytes: 1}, record.Copies{Fresh: 1, Left: 1000}, []string{"mixed/logs/busy"}},
		{record.Limits{Bytes: 1, Quiet: time.Second}, record.Copies{Removed: 1}, nil},
	} {
		got, err := r.Prune(step.limits)
		require.NoError(t, err)
		assert.Equal(t, step.want, got)
		assert.Equal(t, step.left, left())
	}
	assert.NoDirExists(t, r.ArtifactDir("mixed"), "nothing is in it")
}

// leaving is the end of a call that left files.
type leaving map[string]any

func (leaving) LeftFiles() bool { return true }

func TestCopiesAreBoundedAtEachCall(t *testing.T) {
	now := time.Now()
	r := recorder(t, func(o *record.Options) {
		o.Now = func() time.Time { return now }
		o.Keep = record.Limits{Bytes: 2500}
	})
	for i := range 5 {
		file := filepath.Join(r.ArtifactDir("s"), "logs", strconv.Itoa(i))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, make([]byte, 1000), 0o644))
		require.NoError(t, os.Chtimes(file, now, now))
		require.NoError(t, r.Event(t.Context(), "s", "tool_call_finished", leaving{"request_id": strconv.Itoa(i)}))
		now = now.Add(2 * time.Minute)
	}
	files, err := os.ReadDir(filepath.Join(r.ArtifactDir("s"), "logs"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	assert.Equal(t, "3", files[0].Name())
}

func TestNoCopies(t *testing.T) {
	got, err := recorder(t).Prune(record.Limits{})
	require.NoError(t, err)
	assert.Zero(t, got)
}

func BenchmarkOneShot(b *testing.B) {
	root := b.TempDir()
	for b.Loop() {
		r, err := record.New(record.Options{Root: root})
		require.NoError(b, err)
		r.Step(b.Context(), "cli")
		r.Event(b.Context(), "cli", "tool_call_started",
			map[string]any{"request_id": "tool_step_0001", "tool": "head",
				"params": json.RawMessage(`{"args":"-n 5 README.md"}`)})
		r.Event(b.Context(), "cli", "tool_call_finished",
			map[string]any{"request_id": "tool_step_0001", "status": "success", "duration_sec": 0.001})
		require.NoError(b, r.Close())
	}
}
