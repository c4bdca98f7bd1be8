package undo_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/undo"
)

func TestUndoRefusesWhatChangedSince(t *testing.T) {
	write := func(f *fixture, ws *workspace.Workspace) error {
		_, err := ws.WriteFile("a", []byte("by the tool\n"), workspace.WriteOptions{})
		return err
	}
	for name, c := range map[string]struct {
		do     func(f *fixture, ws *workspace.Workspace) error
		meddle func(t *testing.T, f *fixture)
		path   string
		diff   string
	}{
		"edited": {write, func(t *testing.T, f *fixture) { f.plant("a", "by hand\n") }, "a",
			"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-by hand\n+A\n"},
		"removed": {write,
			func(t *testing.T, f *fixture) { require.NoError(t, os.Remove(filepath.Join(f.dir, "a"))) }, "a",
			"--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+A\n"},
		"edited later": {write, func(t *testing.T, f *fixture) { f.write("later", "a", "by another call\n") }, "a",
			"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-by another call\n+A\n"},
		"now a symlink": {write, func(t *testing.T, f *fixture) { replaceByLink(t, filepath.Join(f.dir, "a")) }, "a",
			""},
		"created again": {func(f *fixture, ws *workspace.Workspace) error { return ws.Remove("a") },
			func(t *testing.T, f *fixture) { f.plant("a", "by hand\n") }, "a", "-by hand\n+A\n"},
		"new file edited": {func(f *fixture, ws *workspace.Workspace) error {
			_, err := ws.WriteFile("n", []byte("n\n"), workspace.WriteOptions{})
			return err
		}, func(t *testing.T, f *fixture) { f.plant("n", "by hand\n") }, "n", "-by hand\n"},
		"renamed and edited": {func(f *fixture, ws *workspace.Workspace) error { return ws.Rename("a", "z", false) },
			func(t *testing.T, f *fixture) { f.plant("z", "by hand\n") }, "z", ""},
		"renamed, old name taken": {func(f *fixture,
			ws *workspace.Workspace) error {
			return ws.Rename("a", "z", false)
		},
			func(t *testing.T, f *fixture) { f.plant("a", "by hand\n") }, "a", ""},
		"mode": {func(f *fixture, ws *workspace.Workspace) error { return ws.Chmod("a", 0o600) },
			func(t *testing.T, f *fixture) { require.NoError(t, os.Chmod(filepath.Join(f.dir, "a"), 0o640)) }, "a", ""},
		"one of many": {func(f *fixture, ws *workspace.Workspace) error {
			return f.ws.Batch(f.current,
				[]workspace.Change{{Kind: workspace.Replace, Path: "a", Data: []byte("1")},
					{Kind: workspace.Delete, Path: "d/b"}})
		}, func(t *testing.T, f *fixture) { f.plant("d/b", "by hand\n") }, "d/b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := stage(t)
			require.NoError(t, c.do(f, f.as("c1")))
			c.meddle(t, f)
			e := f.refused(tool.Conflict, undo.Selection{Session: "s", Call: "c1"})
			assert.Contains(t, e.Message, c.path)
			assert.Equal(t, []string{c.path}, e.Details["paths"])
			if c.diff != "" {
				assert.Contains(t, e.Message, "This would come back (+) in place of what is there (-):\n")
				assert.Contains(t, e.Message, c.diff)
				assert.Contains(t, e.Details["back"], c.diff)
			}
			if name == "edited later" {
				assert.Contains(t, e.Message, "by the call later")
				assert.NotContains(t, e.Message, "-by the tool")
				assert.Contains(t, e.Details["since"], "-by the tool\n+by another call\n")
			}
		})
	}
}

func replaceByLink(t *testing.T, path string) {
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("wide", path))
}

func TestUndoGoesThroughTheWorkspace(t *testing.T) {
	f := stage(t)
	outside := t.TempDir()
	f.write("c1", "d/b", "tool")
	f.write("c2", "p/x", "tool")
	require.NoError(t, os.Rename(filepath.Join(f.dir, "d"), filepath.Join(outside, "d")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "d"), filepath.Join(f.dir, "d")))
	f.refused(tool.PathOutsideWorkspace, undo.Selection{Session: "s", Call: "c1"})
	data, err := os.ReadFile(filepath.Join(outside, "d", "b"))
	require.NoError(t, err)
	assert.Equal(t, "tool", string(data))

	ws, err := workspace.Open(f.dir,
		workspace.Options{Protect: []string{"p/**"}, Recorder: f.store.Recorder("", "", 0)})
	require.NoError(t, err)
	defer ws.Close()
	_, err = f.store.Undo(context.Background(), ws, undo.Selection{Session: "s", Call: "c2"})
	assert.Equal(t, tool.PermissionDenied, tool.CodeOf(err))
	assert.FileExists(t, filepath.Join(f.dir, "p", "x"))
}

func TestForgedJournal(t *testing.T) {
	f := stage(t)
	f.write("c1", "a", "x")
	hash := workspace.Hash([]byte("evil"))
	journal := filepath.Join(f.store.Dir(), "journal", "s-s.jsonl")
	file, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	line := func(call, path, hash, data string) string {
		return `{"id":"z` + call + `","session":"s","call":"` + call + `","op":"delete","path":"` + path +
			`","mode":420,"hash":"` + hash + `","data":"` + data + `"}` + "\n"
	}
	_, err = file.WriteString("half a li" + "\n{}\n[1]\nnull\n" + strings.Repeat("x", 1<<20) + "\n" +
		line("out", "../evil", hash, "cGV2aWw=") + line("git", ".git/hooks/pre-commit", hash, "cGV2aWw=") +
		line("wrong", "w", hash, "cGxpZQ==") + line("traverse", "w", "../../../../etc/passwd", "") +
		line("short", "w", "ab", "") +
		`{"id":"zcut","session":"s","call":"cut","op":"del`)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	f.refused(tool.PathOutsideWorkspace, undo.Selection{Session: "s", Call: "out"})
	f.refused(tool.Unavailable, undo.Selection{Session: "s", Call: "traverse"})
	f.refused(tool.Unavailable, undo.Selection{Session: "s", Call: "short"})
	for _, call := range []string{"git", "wrong"} {
		before := f.tree()
		_, err = f.store.Undo(context.Background(), f.ws, undo.Selection{Session: "s", Call: call})
		require.Error(t, err, call)
		assert.Equal(t, before, f.tree(), call)
	}
	f.write("c2", "a", "y") // after the line that was cut off
	f.undo(undo.Selection{Session: "s", Call: "c2"})
	f.undo(undo.Selection{Session: "s", Call: "c1"})
	assert.Contains(t, f.tree(), `"A\n"`)
}

// Without the operator's permission nothing changes whose old content could not be kept.
func TestStoreThatCannotBeWritten(t *testing.T) {
	for _, name := range []string{"", "journal", "objects", "lock"} {
		t.Run("file or directory in the way of "+name, func(t *testing.T) {
			f := newFixture(t, undo.Options{})
			f.plant("a", strings.Repeat("big enough for a file of its own\n", 1000))
			switch at := filepath.Join(storeOf(f.dir), name); name {
			case "lock":
				require.NoError(t, os.MkdirAll(at, 0o700))
			default:
				require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
				require.NoError(t, os.WriteFile(at, nil, 0o600))
			}
			before := f.tree()
			_, err := f.as("c1").WriteFile("a", []byte("new"), workspace.WriteOptions{})
			assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
			assert.Equal(t, before, f.tree())

			var log bytes.Buffer
			easy := openFixture(t, f.dir,
				undo.Options{BestEffort: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			easy.write("c1", "a", "new")
			assert.Contains(t, log.String(), "not recorded")
		})
	}
}

func TestTooLargeToKeep(t *testing.T) {
	f := newFixture(t, undo.Options{MaxFile: 100})
	f.plant("just", strings.Repeat("j", 100))
	f.plant("large", strings.Repeat("l", 101))
	f.write("c1", "just", "new")
	f.write("c1", "large", "new")
	list, err := f.store.Changes(context.Background(), undo.Filter{Path: "large"})
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Contains(t, list[0].Lost, "101 bytes")
	e := f.refused(tool.Unavailable, undo.Selection{})
	assert.Contains(t, e.Message, "large (it had 101 bytes, and at most 100 are kept)")
	out := f.undo(undo.Selection{Skip: true})
	assert.Equal(t, []string{"just"}, out.Files)
	require.Len(t, out.Skipped, 1)
	assert.Equal(t, "large", out.Skipped[0].Path)

	huge := filepath.Join(f.dir, "huge")
	require.NoError(t, os.WriteFile(huge, nil, 0o600))
	require.NoError(t, os.Truncate(huge, workspace.DefaultReadLimit+1))
	require.NoError(t, f.as("c2").Rename("huge", "moved", false))
	f.undo(undo.Selection{Session: "s", Call: "c2"})
	assert.FileExists(t, huge)
	f.write("c3", "huge", "new")
	e = f.refused(tool.Unavailable, undo.Selection{Session: "s", Call: "c3"})
	assert.Contains(t, e.Message, "too many to keep")
}

// Undo removes or replaces what is too large to keep only if a person says so, and never what may be the only copy.
func TestUndoOfLargeFiles(t *testing.T) {
	large, moved := strings.Repeat("l", 101), strings.Repeat("m", 10)
	for name, c := range map[string]struct {
		sel    undo.Selection
		code   tool.Code
		unkept []string
		left   []string // of large, small and moved
	}{
		"plain":         {undo.Selection{}, tool.Conflict, nil, []string{"large", "small", "moved"}},
		"skip":          {undo.Selection{Skip: true}, "", nil, []string{"large", "moved"}},
		"ours":          {undo.Selection{Ours: true}, tool.Unavailable, nil, []string{"large", "small", "moved"}},
		"ours and skip": {undo.Selection{Ours: true, Skip: true}, "", []string{"large"}, []string{"moved"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, undo.Options{MaxFile: 100})
			e := f.store.Effects(undo.Call{Session: "s", ID: "c1"})
			ended := make(map[string]undo.State)
			for path, content := range map[string]string{"large": large, "small": "s", "moved": moved} {
				id, err := e.Before(path, undo.State{})
				require.NoError(t, err)
				f.plant(path, content)
				ended[id] = f.state(path)
			}
			id, err := e.Before("from", undo.State{Exists: true, Mode: 0o644, Size: 10, Hash: "unknown", Lost: "for a test"})
			require.NoError(t, err)
			ended[id] = undo.State{}
			require.NoError(t, e.After(ended, nil))
			e.Close()
			if c.code != "" {
				f.refused(c.code, c.sel)
			} else {
				assert.Equal(t, c.unkept, f.undo(c.sel).Unkept)
			}
			for _, path := range []string{"large", "small", "moved"} {
				_, err := os.Lstat(filepath.Join(f.dir, path))
				assert.Equal(t, slices.Contains(c.left, path), err == nil, path)
			}
		})
	}
}

func TestPruneBySizeAndAge(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFixture(t, undo.Options{MaxBytes: 1 << 20, MaxAge: time.Hour, Now: func() time.Time { return now }})
	content := func(i int) string { return strings.Repeat(string(rune('a'+i)), 100<<10) }
	f.plant("f", content(0))
	for i := 1; i <= 20; i++ {
		now = now.Add(time.Second)
		f.write(string(rune('a'+i)), "f", content(i))
		assert.LessOrEqual(t, storeSize(t, f), int64(1<<20+100<<10+16<<10), "it prunes by itself, step %d", i)
	}
	p, err := f.store.Prune(context.Background())
	require.NoError(t, err)
	assert.LessOrEqual(t, p.Left, int64(1<<20))
	calls, err := f.store.Calls(context.Background(), undo.Filter{})
	require.NoError(t, err)
	require.Len(t, calls, 20)
	kept := 0
	for i, c := range calls { // newest first
		if c.Lost == 0 {
			assert.Equal(t, kept, i, "the oldest went first")
			kept++
		}
	}
	assert.GreaterOrEqual(t, kept, 6)
	assert.LessOrEqual(t, kept, 10)
	e := f.refused(tool.Unavailable, undo.Selection{All: true})
	assert.Contains(t, e.Message, "no longer kept")
	for range kept {
		f.undo(undo.Selection{})
	}

	last := calls[0].Time
	now = last.Add(time.Hour) // exactly as old as allowed
	p, err = f.store.Prune(context.Background())
	require.NoError(t, err)
	list, err := f.store.Changes(context.Background(), undo.Filter{Call: calls[0].Call})
	require.NoError(t, err)
	assert.Len(t, list, 1)
	now = now.Add(2 * time.Second)
	p, err = f.store.Prune(context.Background())
	require.NoError(t, err)
	assert.Positive(t, p.Lines)
	list, err = f.store.Changes(context.Background(), undo.Filter{Call: calls[0].Call})
	require.NoError(t, err)
	assert.Empty(t, list)

	now = now.Add(24 * time.Hour)
	temp := filepath.Join(f.store.Dir(), "objects", "tmp-1-0")
	require.NoError(t, os.MkdirAll(filepath.Dir(temp), 0o700))
	p, err = f.store.Prune(context.Background())
	require.NoError(t, err)
	assert.Zero(t, p.Left)
	f.refused(tool.NotFound, undo.Selection{})
}

func storeSize(t *testing.T, f *fixture) (size int64) {
	require.NoError(t, filepath.Walk(f.store.Dir(), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	}))
	return size
}

func TestStoreIsPrivate(t *testing.T) {
	f := newFixture(t, undo.Options{})
	content := strings.Repeat("the same again and again\n", 10000)
	f.plant("f", content)
	f.plant("g", content)
	f.write("c1", "f", "")
	f.write("c2", "g", "")
	assert.Less(t, storeSize(t, f), int64(2*len(content)), "kept once")
	require.NoError(t, filepath.Walk(f.store.Dir(), func(path string, info os.FileInfo, err error) error {
		assert.Zero(t, info.Mode().Perm()&0o077, path)
		return err
	}))
	f.undo(undo.Selection{})
	f.undo(undo.Selection{})
	data, err := os.ReadFile(filepath.Join(f.dir, "g"))
	require.NoError(t, err)
	assert.Equal(t, content, string(data))

	_, err = undo.Open("relative", undo.Options{})
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
	empty := newFixture(t, undo.Options{})
	empty.refused(tool.NotFound, undo.Selection{})
	assert.NoDirExists(t, empty.store.Dir())
	_, err = empty.as("c").WriteFile(".agent/cache/page", nil, workspace.WriteOptions{Parents: true})
	require.NoError(t, err)
	list, err := empty.store.Changes(context.Background(), undo.Filter{})
	require.NoError(t, err)
	for _, c := range list {
		assert.Equal(t, ".agent", c.Path)
	}
}

// TestPruneKeepsTheJournalSmall has so many small changes that their lines alone are too much.
func TestPruneKeepsTheJournalSmall(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFixture(t, undo.Options{MaxBytes: 256 << 10, Now: func() time.Time { return now }})
	f.plant("f", "0")
	for i := range 60 {
		now = now.Add(2 * time.Hour)
		f.write(fmt.Sprint("c", i), "f", strings.Repeat(fmt.Sprint(i, " "), 1000))
		assert.LessOrEqual(t, storeSize(t, f), int64(256<<10))
	}
	_, err := f.store.Prune(context.Background())
	require.NoError(t, err)
	assert.LessOrEqual(t, storeSize(t, f), int64(64<<10))
	calls, err := f.store.Calls(context.Background(), undo.Filter{})
	require.NoError(t, err)
	require.NotEmpty(t, calls)
	for i, c := range calls {
		assert.Equal(t, fmt.Sprint("c", 59-i), c.Call, "the newest are there")
		f.undo(undo.Selection{})
	}
	f.refused(tool.NotFound, undo.Selection{})
}

// TestPruneKeepsWhatRuns has two calls that together, and the second alone, need more than the journals may take:
// pruning drops older calls, and nothing of these.
func TestPruneKeepsWhatRuns(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFixture(t, undo.Options{MaxBytes: 2 << 20, Now: func() time.Time { return now }})
	f.write("old", "other", strings.Repeat("old ", 5000))
	now = now.Add(2 * time.Hour)
	running := map[string]*undo.Effects{"one": f.store.Effects(undo.Call{Session: "s", ID: "one"}),
		"two": f.store.Effects(undo.Call{Session: "s", ID: "two"})}
	ended := map[string]map[string]undo.State{"one": {}, "two": {}}
	for i := range 60 {
		for call, files := range map[string]int{"one": 20, "two": 60} {
			if path := fmt.Sprint(call, "/", i); i < files {
				f.plant(path, strings.Repeat(fmt.Sprint(i, " "), 3000))
				id, err := running[call].Before(path, f.state(path))
				require.NoError(t, err)
				ended[call][id] = undo.State{}
			}
		}
	}
	before := f.tree()
	for call, effects := range running {
		require.NoError(t, os.RemoveAll(filepath.Join(f.dir, call)))
		require.NoError(t, effects.After(ended[call], nil))
		dropped, err := effects.Dropped()
		require.NoError(t, err)
		assert.Zero(t, dropped)
		effects.Close()
	}
	_, err := f.store.Prune(t.Context())
	require.NoError(t, err)
	for _, call := range []string{"one", "two"} {
		f.undo(undo.Selection{Session: "s", Call: call})
	}
	assert.Equal(t, before, f.tree())
	calls, err := f.store.Calls(t.Context(), undo.Filter{Call: "old"})
	require.NoError(t, err)
	assert.Empty(t, calls)
}

// Pruning for size begins beyond a quarter of the store's limit. It drops a call an hour after its last change, before
// that only beyond the whole limit, and never the newest.
func TestWhatPruningForSizeDrops(t *testing.T) {
	const quarter = 100 << 10
	for name, c := range map[string]struct {
		sizes [3]int // of the calls' contents, oldest first
		after time.Duration
		kept  string
	}{
		"within a quarter":               {[3]int{20 << 10, 20 << 10, 20 << 10}, 2 * time.Hour, "abc"},
		"beyond it, an hour old":         {[3]int{60 << 10, 60 << 10, 10 << 10}, time.Hour, "abc"},
		"beyond it, older than an hour":  {[3]int{60 << 10, 60 << 10, 10 << 10}, time.Hour + time.Second, "c"},
		"beyond the whole, recent":       {[3]int{150 << 10, 150 << 10, 50 << 10}, time.Second, "bc"},
		"the newest alone is beyond all": {[3]int{10 << 10, 10 << 10, 400 << 10}, time.Second, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			f := newFixture(t, undo.Options{Now: func() time.Time { return now }, MaxBytes: 4 * quarter})
			for i, call := range []string{"a", "b", "c"} {
				if call == "c" {
					now = now.Add(c.after)
				}
				effects := f.store.Effects(undo.Call{Session: "s", ID: call})
				ended := make(map[string]undo.State)
				for rest := c.sizes[i]; rest > 0; rest -= 10 << 10 {
					path := fmt.Sprint(call, "/", rest)
					f.plant(path, strings.Repeat(call, 10<<10))
					id, err := effects.Before(path, f.state(path))
					require.NoError(t, err)
					ended[id] = undo.State{}
				}
				require.NoError(t, os.RemoveAll(filepath.Join(f.dir, call)))
				require.NoError(t, effects.After(ended, nil))
				effects.Close()
			}
			_, err := f.store.Prune(t.Context())
			require.NoError(t, err)
			calls, err := f.store.Calls(t.Context(), undo.Filter{})
			require.NoError(t, err)
			kept := ""
			for _, call := range calls { // newest first
				kept = call.Call + kept
			}
			assert.Equal(t, c.kept, kept)
		})
	}
}

// A call that runs for so long that pruning drops its beginning learns of it.
func TestDroppedWhileItRan(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFixture(t, undo.Options{MaxAge: time.Hour, Now: func() time.Time { return now }})
	f.plant("a.txt", "0")
	p := f.begin("long")
	now = now.Add(2 * time.Hour)
	_, err := f.store.Prune(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.effects.After(map[string]undo.State{p.id: {}}, nil))
	dropped, err := p.effects.Dropped()
	require.NoError(t, err)
	assert.Equal(t, 1, dropped)
	p.effects.Close()
}

// A call's changes are shown as they were. For a file changed since, whose content after the call is not kept,
// the diff says so.
func TestCallDiffOfWhatHasChangedSince(t *testing.T) {
	const gone = "(a: it was changed since, and what the call left there is not kept)\n"
	for name, c := range map[string]struct {
		since func(f *fixture)
		want  string
	}{
		"nothing":   {func(*fixture) {}, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-A\n+tool\n"},
		"by hand":   {func(f *fixture) { f.plant("a", "mine\n") }, gone},
		"removed":   {func(f *fixture) { require.NoError(f, os.Remove(filepath.Join(f.dir, "a"))) }, gone},
		"by a call": {func(f *fixture) { f.write("c2", "a", "later\n") }, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-A\n+tool\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, undo.Options{})
			f.plant("a", "A\n")
			f.write("c1", "a", "tool\n")
			c.since(f)
			diff, _, err := f.store.CallDiff(t.Context(), f.ws, "s", "c1")
			require.NoError(t, err)
			assert.Equal(t, c.want, diff)
		})
	}
}
