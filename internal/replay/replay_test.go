package replay

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/trajectory"
)

func TestEqual(t *testing.T) {
	tests := []struct {
		name, a, b string
		needed     []string
		ok         bool
	}{
		{"same", "x", "x", nil, true},
		{"other words", "one", "two", nil, false},
		{"root", "in /was/dir/a.txt", "in /is/dir/a.txt", []string{"path"}, true},
		{"time", "at 2026-01-02T03:04:05.678Z", "at 2027-11-12T13:14:15Z", []string{"time"}, true},
		{"date", "Mon Nov 23 01:57:19 UTC 2026", "Tue Nov 24 11:07:00 UTC 2026", []string{"time"}, true},
		{"listing", "-rw-r--r-- 1 a Nov 23 01:57 x", "-rw-r--r-- 1 a Nov  3 11:07 x", []string{"time"}, true},
		{"epoch", "t=1795397639", "t=1795399999.25", []string{"time"}, true},
		{"duration", "ok 0.012s", "ok 1.5s", []string{"duration"}, true},
		{"member", `{"duration_sec":0.5}`, `{"duration_sec":1e-3}`, []string{"duration"}, true},
		{"milliseconds", `{"execution_time_ms":1}`, `{"execution_time_ms":27}`, []string{"duration"}, true},
		{"temp", "/tmp/x1/y", "/tmp/x2/y", []string{"temp"}, true},
		{"id", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "aaaaaaaa-8b86-4d01-b42d-00cf4fc964ff", []string{"id"}, true},
		{"commit", "[main 1a2b3c4] x", "[main 99ffee0] x", []string{"id"}, true},
		{"two of them", "1a2b3c4 took 3 ms", "2a2b3c4 took 4 ms", []string{"duration", "id"}, true},
		{"numbers stay", "12 files", "13 files", nil, false},
		{"large numbers stay", "1234567 bytes", "1234568 bytes", nil, false},
		{"words of hex letters stay", "feedback", "defaced", nil, false},
		{"a time is no other text", "at 03:04:05", "at noon", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			needed, ok := equal(side{tt.a, "/was/dir"}, side{tt.b, "/is/dir"}, Normalizations())
			assert.Equal(t, tt.ok, ok)
			assert.Equal(t, tt.needed, needed)
		})
	}
}

func TestTreeFollowsChanges(t *testing.T) {
	tr := tree{"a.txt": {"file 1", 0o644}, "d": {"directory", 0o755}, "d/x": {"file 2", 0o600},
		"d/e": {digest: "directory"}, "d/e/y": {digest: "file 3"}}
	tr.apply(undo.Left{Path: "a.txt", Kind: workspace.Replace, Digest: "file 9"})
	tr.apply(undo.Left{Path: "new", Kind: workspace.Create, Digest: "file 4"})
	tr.apply(undo.Left{Path: "d", To: "moved", Kind: workspace.Rename, Digest: "directory"})
	tr.apply(undo.Left{Path: "moved/e", Kind: workspace.Delete})
	tr.apply(undo.Left{Path: "new", Kind: workspace.Chmod, Digest: "file 7", Mode: 0o755})
	tr.apply(undo.Left{Path: "gone", Kind: workspace.Chmod, Mode: 0o755})
	tr.apply(undo.Left{Path: ".git/index", Kind: workspace.Create, Digest: "file 5"})
	tr.apply(undo.Left{Path: ".agent/cache/x", Kind: workspace.Create, Digest: "file 5"})
	tr.apply(undo.Left{Path: "sub/node_modules/x", Kind: workspace.Create, Digest: "file 5"})
	want := tree{"a.txt": {"file 9", 0o644}, "new": {"file 4", 0o755}, "moved": {"directory", 0o755},
		"moved/x": {"file 2", 0o600}}
	assert.Equal(t, want, tr)
	assert.Equal(t, want.hash(), tr.hash())
	assert.Equal(t, []string{"a.txt", "moved", "new", "z"},
		tr.differs(tree{"z": {digest: "file 1"}, "moved/x": {digest: "file 2"}}, 0))
}

// A recording from a file is somebody else's: its names do not grow, and it ends.
func TestARecordingIsBounded(t *testing.T) {
	long := strings.Repeat("x/", longestPath/4)
	tr := tree{"a": {"directory", 0}, "a/b": {"file 1", 0}}
	for range 10 {
		tr.apply(undo.Left{Path: "a", To: undo.PathName("c/" + long + "a"), Kind: workspace.Rename})
		tr.apply(undo.Left{Path: "c", To: "a", Kind: workspace.Rename})
	}
	tr.apply(undo.Left{Path: undo.PathName(long + long + long), Kind: workspace.Create, Digest: "file 2"})
	for name := range tr {
		assert.LessOrEqual(t, len(name), longestPath)
	}

	text := `{"toolhost_session":1,"session":"s"}` + "\n" + `{"call":{"request_id":"1"}}` + "\n"
	r, err := readUpToSize(strings.NewReader(text), "s.replay", int64(len(text)))
	require.NoError(t, err)
	assert.Len(t, r.Calls, 1)
	_, err = readUpToSize(strings.NewReader(text), "s.replay", int64(len(text)-1))
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
}

// Modes are compared but for what is not known, and for what umasks take away.
func TestModesAreCompared(t *testing.T) {
	was := tree{"a": {"file 1", 0o644}, "b": {"file 1", 0o644}, "c": {"file 1", 0o644}, "d": {digest: "file 1"}}
	is := tree{"a": {"file 1", 0o755}, "b": {"file 1", 0o664}, "c": {"file 1", 0o600}, "d": {"file 1", 0o700}}
	assert.Equal(t, []string{"a", "b", "c"}, was.differs(is, 0))
	assert.Equal(t, []string{"a", "c"}, was.differs(is, writeOfOthers))
	assert.Equal(t, []string{"a (mode 0644 then, 0755 now)"}, was.named([]string{"a"}, is))
	assert.Equal(t, []string{"a"}, was.differs(is, 0o077))
}

// A scan sees a file that was changed again at once, with the same size.
func TestScanSeesEveryChange(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	s := &scanner{root: dir}
	seen := make(map[string]bool)
	for i := range 20 {
		require.NoError(t, os.WriteFile(file, []byte{byte('a' + i)}, 0o644))
		found, err := s.scan(t.Context())
		require.NoError(t, err)
		assert.False(t, seen[found.hash()])
		seen[found.hash()] = true
	}
}

func TestCopy(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, os.MkdirAll(filepath.Join(from, "d", "e"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(from, ".agent", "cache"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, ".agent", "Taskfile.yml"), []byte("x"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(from, ".agent", "cache", "y"), []byte("x"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(from, "d", "run.sh"), []byte("x"), 0o755))
	require.NoError(t, os.Symlink("../nowhere", filepath.Join(from, "d", "link")))
	require.NoError(t, os.Chtimes(filepath.Join(from, "d", "run.sh"), old, old))
	require.NoError(t, os.Chmod(filepath.Join(from, "d"), 0o555))
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(from, "d"), 0o755)
		_ = os.Chmod(filepath.Join(to, "d"), 0o755)
	})
	require.NoError(t, os.Mkdir(filepath.Join(from, "notes"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "notes", "n"), []byte("x"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(from, ".key"), []byte("x"), 0o644))
	hidden := []string{filepath.Join(from, "notes"), filepath.Join(from, "notes", "n"), filepath.Join(from, ".key")}
	require.NoError(t, Copy(t.Context(), from, to, func(path string) bool { return slices.Contains(hidden, path) }))
	assert.DirExists(t, filepath.Join(to, "notes"))
	assert.NoFileExists(t, filepath.Join(to, "notes", "n"), "tools do not see it")
	assert.NoFileExists(t, filepath.Join(to, ".key"))
	info, err := os.Stat(filepath.Join(to, "d", "run.sh"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	assert.True(t, info.ModTime().Equal(old))
	link, err := os.Readlink(filepath.Join(to, "d", "link"))
	require.NoError(t, err)
	assert.Equal(t, "../nowhere", link)
	info, err = os.Stat(filepath.Join(to, "d"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o555), info.Mode().Perm())
	assert.FileExists(t, filepath.Join(to, ".agent", "Taskfile.yml"))
	assert.NoDirExists(t, filepath.Join(to, ".agent", "cache"))
}

// emptyCatalog has no tools.
func emptyCatalog(t *testing.T) *host.Catalog {
	t.Helper()
	h, err := host.New(context.Background(), host.Options{Root: t.TempDir()})
	require.NoError(t, err)
	return h.Catalog()
}

func recordedCall(name, params, text string) *trajectory.Call {
	return &trajectory.Call{ID: name, Tool: name, Status: "success", Params: json.RawMessage(params),
		Result: tool.MustMarshal(tool.Text(text))}
}

func TestPlayback(t *testing.T) {
	failed := recordedCall("b", `{"x":2}`, "it failed\nTry again.")
	failed.Status, failed.Error, failed.Message = "timeout", "timeout", "it failed"
	rec := &Recording{Session: "s",
		Calls: []*trajectory.Call{recordedCall("a", `{"x":1,"y":[true,null]}`, "one"), failed,
			recordedCall("a", `{"x":1,"y":[true,null]}`, "three"), recordedCall("a", `{"token":"[redacted]"}`, "four"),
			{ID: "lost", Tool: "c", Status: "lost"}}}
	catalog := emptyCatalog(t)
	ask := func(t *testing.T, p *Playback, name, params string) (string, tool.Code) {
		t.Helper()
		tools, err := p.Tools(t.Context())
		require.NoError(t, err)
		for _, one := range tools {
			if one.Definition().Name == name {
				result, err := one.Call(t.Context(), &tool.Call{Params: json.RawMessage(params)})
				if err != nil {
					return "", tool.CodeOf(err)
				}
				if result.Failed != nil {
					return result.Text(), result.Failed.Code
				}
				return result.Text(), ""
			}
		}
		t.Fatalf("there is no tool %s", name)
		return "", ""
	}
	type step struct {
		name, params, text string
		code               tool.Code
	}
	first := `{"y":[true,null],"x":1}`
	for order, steps := range map[string][]step{
		Strict: {{"b", `{"x":2}`, "", tool.Conflict}, {"a", first, "one", ""}, {"a", first, "", tool.Conflict},
			{"b", `{"x":2}`, "it failed\nTry again.", tool.Timeout}, {"a", first, "three", ""},
			{"a", `{"token":"anything"}`, "four", ""}, {"a", first, "", tool.NotFound}},
		Any: {{"b", `{"x":2}`, "it failed\nTry again.", tool.Timeout}, {"a", `{"token":"anything"}`, "four", ""},
			{"a", first, "one", ""}, {"a", `{"x":1}`, "", tool.NotFound}, {"a", first, "three", ""},
			{"a", first, "", tool.NotFound}},
	} {
		t.Run(order, func(t *testing.T) {
			p, err := NewPlayback(rec, catalog, order)
			require.NoError(t, err)
			assert.Equal(t, 4, p.Left(), "what has no answer is not waited for")
			for i, s := range steps {
				text, code := ask(t, p, s.name, s.params)
				assert.Equal(t, s.text, text, "step %d", i)
				assert.Equal(t, s.code, code, "step %d", i)
			}
			assert.Zero(t, p.Left())
		})
	}
	_, err := NewPlayback(rec, catalog, "first")
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}
