package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// bothWays runs a test as on a system that can exchange two files (skipped if
// this one cannot), and as on one that cannot.
func bothWays(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("exchange", func(t *testing.T) { test(t, open) })
	t.Run("no exchange", func(t *testing.T) {
		test(t, func(t testing.TB, dir string, opts workspace.Options) *workspace.Workspace {
			w := open(t, dir, opts)
			w.ForgetExchange()
			return w
		})
	})
}

type opener = func(t testing.TB, dir string, opts workspace.Options) *workspace.Workspace

func TestBatch(t *testing.T) { bothWays(t, testBatch) }

func testBatch(t *testing.T, open opener) {
	dir := realTemp(t)
	plant(t, dir, "replace", "old", "delete", "old", "from", "kept", "edit", "old", "swap1", "1", "swap2", "2", "run",
		"#!", "over", "gone")
	require.NoError(t, os.Chmod(filepath.Join(dir, "from"), 0o755))
	require.NoError(t, os.Symlink("replace", filepath.Join(dir, "link")))
	w := open(t, dir, workspace.Options{})
	require.NoError(t, w.Batch(context.Background(), []workspace.Change{
		{Kind: workspace.Create, Path: "new/deep/f", Data: []byte("new"), Mode: 0o755},
		{Kind: workspace.Replace, Path: "link", Data: []byte("new"), Expect: workspace.Hash([]byte("old")),
			Old: []byte("old")},
		{Kind: workspace.Delete, Path: "delete"},
		{Kind: workspace.Rename, Path: "from", To: "moved/to"},
		{Kind: workspace.Rename, Path: "edit", To: "edited", Data: []byte("new"), Mode: 0o600},
		{Kind: workspace.Rename, Path: "swap1", To: "swap2"},
		{Kind: workspace.Rename, Path: "swap2", To: "swap1"},
		{Kind: workspace.Chmod, Path: "run", Mode: 0o755},
		{Kind: workspace.Delete, Path: "over"},
		{Kind: workspace.Create, Path: "over", Data: []byte("again")},
	}))
	assert.Equal(t, `. drwxr-xr-x
edited -rw------- "new"
link Lrwxrwxrwx -> replace
moved drwxr-xr-x
moved/to -rwxr-xr-x "kept"
new drwxr-xr-x
new/deep drwxr-xr-x
new/deep/f -rwxr-xr-x "new"
over -rw-r--r-- "again"
replace -rw-r--r-- "new"
run -rwxr-xr-x "#!"
swap1 -rw-r--r-- "2"
swap2 -rw-r--r-- "1"
`, tree(t, dir))
	require.NoError(t, w.Batch(context.Background(), nil))
}

func TestBatchIsAllOrNothing(t *testing.T) { bothWays(t, testBatchIsAllOrNothing) }

func testBatchIsAllOrNothing(t *testing.T, open opener) {
	good := []workspace.Change{
		{Kind: workspace.Create, Path: "made/new", Data: []byte("new")},
		{Kind: workspace.Replace, Path: "a", Data: []byte("new")},
		{Kind: workspace.Delete, Path: "b"},
		{Kind: workspace.Rename, Path: "c", To: "sub/c2"},
	}
	for name, c := range map[string]struct {
		change workspace.Change
		code   tool.Code
	}{
		"create existing":  {workspace.Change{Kind: workspace.Create, Path: "d"}, tool.AlreadyExists},
		"replace missing":  {workspace.Change{Kind: workspace.Replace, Path: "none"}, tool.NotFound},
		"delete missing":   {workspace.Change{Kind: workspace.Delete, Path: "none"}, tool.NotFound},
		"delete directory": {workspace.Change{Kind: workspace.Delete, Path: "dir"}, tool.IsDirectory},
		"rename missing":   {workspace.Change{Kind: workspace.Rename, Path: "none", To: "x"}, tool.NotFound},
		"rename onto":      {workspace.Change{Kind: workspace.Rename, Path: "d", To: "dir/f"}, tool.AlreadyExists},
		"rename directory": {workspace.Change{Kind: workspace.Rename, Path: "dir", To: "x"}, tool.IsDirectory},
		"unexpected": {workspace.Change{Kind: workspace.Replace, Path: "d",
			Expect: workspace.Hash([]byte("else"))}, tool.Conflict},
		"unexpected delete": {workspace.Change{Kind: workspace.Delete, Path: "d", Expect: workspace.Hash(nil)},
			tool.Conflict},
		"another old one":  {workspace.Change{Kind: workspace.Replace, Path: "d", Old: []byte("else")}, tool.Conflict},
		"no empty old one": {workspace.Change{Kind: workspace.Delete, Path: "d", Old: []byte{}}, tool.Conflict},
		"renamed old one": {workspace.Change{Kind: workspace.Rename, Path: "d", To: "x", Old: []byte("DD")},
			tool.Conflict},
		"mode of old one": {workspace.Change{Kind: workspace.Chmod, Path: "d", Mode: 0o755, Old: []byte("E")},
			tool.Conflict},
		"twice":           {workspace.Change{Kind: workspace.Replace, Path: "./a"}, tool.InvalidArgument},
		"twice by a link": {workspace.Change{Kind: workspace.Replace, Path: "alink"}, tool.InvalidArgument},
		"deleted twice":   {workspace.Change{Kind: workspace.Delete, Path: "b"}, tool.InvalidArgument},
		"outside":         {workspace.Change{Kind: workspace.Create, Path: "../x"}, tool.PathOutsideWorkspace},
		"rename outside": {workspace.Change{Kind: workspace.Rename, Path: "d", To: "../x"},
			tool.PathOutsideWorkspace},
		"protected": {workspace.Change{Kind: workspace.Create, Path: ".git/hooks/x"}, tool.PermissionDenied},
		"becomes protected": {workspace.Change{Kind: workspace.Rename, Path: "d", To: "agent.hcl"},
			tool.PermissionDenied},
		"read-only": {workspace.Change{Kind: workspace.Replace, Path: "ro"}, tool.PermissionDenied},
		"unknown":   {workspace.Change{Kind: "explode", Path: "d"}, tool.InvalidArgument},
		"name too long": {workspace.Change{Kind: workspace.Create, Path: "made/" + strings.Repeat("n", 300)},
			tool.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			dir := realTemp(t)
			plant(t, dir, "a", "A", "b", "B", "c", "C", "d", "D", "dir/f", "F", "ro", "R")
			require.NoError(t, os.Chmod(filepath.Join(dir, "ro"), 0o444))
			require.NoError(t, os.Symlink("a", filepath.Join(dir, "alink")))
			w := open(t, dir, workspace.Options{})
			before := tree(t, dir)
			requireCode(t, c.code, w.Batch(context.Background(), append(good, c.change)))
			assert.Equal(t, before, tree(t, dir))
			requireCode(t, c.code, w.Batch(context.Background(), append([]workspace.Change{c.change}, good...)))
			assert.Equal(t, before, tree(t, dir))
		})
	}
	dir := realTemp(t)
	plant(t, dir, "a", "A", "b", "B", "c", "C")
	require.NoError(t, open(t, dir, workspace.Options{}).Batch(context.Background(), good))
}

// spoiler changes a file at the last moment, so that its step fails after others have been applied.
type spoiler struct{ path string }

func (s spoiler) BeforeChange(_ context.Context, b workspace.Before) error {
	if b.Path == "z" {
		return os.WriteFile(s.path, []byte("other writer"), 0o644)
	}
	return nil
}

// linker replaces a directory that is about to be created by a link.
type linker struct{ name, target string }

func (l linker) BeforeChange(_ context.Context, b workspace.Before) error {
	if b.Kind == workspace.Mkdir {
		return os.Symlink(l.target, l.name)
	}
	return nil
}

// A link replaces a missing parent directory after the path was found not to be protected.
func TestBatchFollowsNoLinkToWhatIsProtected(t *testing.T) {
	testneed.Symlink(t, "x", filepath.Join(t.TempDir(), "link"))
	dir := realTemp(t)
	plant(t, dir, ".git/f.txt", "protected")
	w, err := workspace.Open(dir, workspace.Options{Recorder: linker{filepath.Join(dir, "d"), ".git"}})
	require.NoError(t, err)
	defer w.Close()
	for _, change := range []workspace.Change{
		{Kind: workspace.Create, Path: "d/f.new", Data: []byte("attack")},
		{Kind: workspace.Replace, Path: "d/f.txt", Data: []byte("attack")},
	} {
		assert.NotEmpty(t, tool.CodeOf(w.Batch(context.Background(), []workspace.Change{change})), change.Path)
		assert.Equal(t, ". drwxr-xr-x\nf.txt -rw-r--r-- \"protected\"\n", tree(t, filepath.Join(dir, ".git")))
		assert.NoError(t, os.Remove(filepath.Join(dir, "d")), "control: the link was made")
	}
}

func TestBatchRollsBack(t *testing.T) { bothWays(t, testBatchRollsBack) }

func testBatchRollsBack(t *testing.T, open opener) {
	dir := realTemp(t)
	plant(t, dir, "a", "A", "b", "B", "z", "Z")
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0o750))
	inode := func(name string) fs.FileInfo {
		info, err := os.Lstat(filepath.Join(dir, name))
		require.NoError(t, err)
		return info
	}
	a := inode("a")
	w := open(t, dir, workspace.Options{Recorder: spoiler{filepath.Join(dir, "z")}})
	err := w.Batch(context.Background(), []workspace.Change{
		{Kind: workspace.Create, Path: "n/e/w", Data: []byte("new")},
		{Kind: workspace.Replace, Path: "a", Data: []byte("new")},
		{Kind: workspace.Rename, Path: "b", To: "b2"},
		{Kind: workspace.Replace, Path: "z", Data: []byte("new")},
	})
	requireCode(t, tool.Conflict, err)
	assert.Equal(t, ". drwxr-xr-x\na -rwxr-x--- \"A\"\nb -rw-r--r-- \"B\"\nz -rw-r--r-- \"other writer\"\n",
		tree(t, dir))
	assert.True(t, os.SameFile(a, inode("a")), "the very same file is back")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = w.Batch(ctx, []workspace.Change{{Kind: workspace.Create, Path: "x/y", Data: nil}})
	requireCode(t, tool.Cancelled, err)
	assert.NoDirExists(t, filepath.Join(dir, "x"))
}

// Contents are read once, when they are written. If one cannot be read, nothing changes.
func TestBatchReads(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a", "A", "swap", "old", "away", "W")
	r := &recorder{}
	w := open(t, dir, workspace.Options{Recorder: r})
	var times atomic.Int64
	read := func(text string) func() ([]byte, error) {
		return func() ([]byte, error) {
			times.Add(1)
			return []byte(text), nil
		}
	}
	changes := []workspace.Change{
		{Kind: workspace.Replace, Path: "a", Read: read("new a"), Mode: 0o600, Expect: workspace.Hash([]byte("A"))},
		{Kind: workspace.Create, Path: "b", Read: read("new b")},
		{Kind: workspace.Create, Path: "empty", Read: read("")},
		{Kind: workspace.Delete, Path: "swap"},
		{Kind: workspace.Create, Path: "swap", Read: read("new swap")},
		{Kind: workspace.Rename, Path: "away", To: "there"},
	}
	before := tree(t, dir)
	unreadable := workspace.Change{Kind: workspace.Create, Path: "c/c",
		Read: func() ([]byte, error) { return nil, errors.New("nobody can read it") }}
	err := w.Batch(context.Background(), append(changes[:len(changes):len(changes)], unreadable))
	require.ErrorContains(t, err, "nobody can read it")
	require.ErrorContains(t, err, "c/c")
	assert.Equal(t, before, tree(t, dir))

	times.Store(0)
	r.got = nil
	require.NoError(t, w.Batch(context.Background(), changes))
	assert.EqualValues(t, 4, times.Load())
	assert.Equal(t, `. drwxr-xr-x
a -rw------- "new a"
b -rw-r--r-- "new b"
empty -rw-r--r-- ""
swap -rw-r--r-- "new swap"
there -rw-r--r-- "W"
`, tree(t, dir))
	hashes := make(map[string]string)
	for _, b := range r.got {
		hashes[b.Path] = b.NewHash
	}
	for path, text := range map[string]string{"a": "new a", "b": "new b", "empty": "", "swap": "new swap", "there": "W"} {
		assert.Equal(t, workspace.Hash([]byte(text)), hashes[path], path)
	}
}

// One of many files changes at the last moment: all others stay the same files.
func TestBatchOfManyRollsBack(t *testing.T) { bothWays(t, testBatchOfManyRollsBack) }

func testBatchOfManyRollsBack(t *testing.T, open opener) {
	dir := realTemp(t)
	var changes []workspace.Change
	files := make(map[string]fs.FileInfo)
	for i := range 200 {
		name := fmt.Sprintf("d%d/%d", i%3, i)
		plant(t, dir, name, "old")
		info, err := os.Lstat(filepath.Join(dir, name))
		require.NoError(t, err)
		files[name] = info
		change := workspace.Change{Kind: workspace.Replace, Path: name, Data: []byte("new")}
		if i%7 == 0 {
			change = workspace.Change{Kind: workspace.Delete, Path: name}
		}
		changes = append(changes, change, workspace.Change{Kind: workspace.Create, Path: name + ".new"})
	}
	plant(t, dir, "z", "Z")
	w := open(t, dir, workspace.Options{Recorder: spoiler{filepath.Join(dir, "z")}})
	w.OpenAtMost(50)
	for _, at := range []int{0, len(changes) / 2, len(changes)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "z"), []byte("Z"), 0o644))
		spoiled := append(changes[:at:at], workspace.Change{Kind: workspace.Replace, Path: "z", Data: []byte("new")})
		requireCode(t, tool.Conflict, w.Batch(context.Background(), append(spoiled, changes[at:]...)))
		for name, was := range files {
			now, err := os.Lstat(filepath.Join(dir, name))
			require.NoError(t, err)
			assert.True(t, os.SameFile(was, now), name)
			assert.NoFileExists(t, filepath.Join(dir, name+".new"))
		}
		assert.Equal(t, "other writer", content(t, dir, "z"))
		requireNoTemp(t, dir)
	}
}
