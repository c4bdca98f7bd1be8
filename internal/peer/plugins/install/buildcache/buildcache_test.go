//go:build unix

package buildcache_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/cache"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/peer/plugins/install/buildcache"
	"github.com/toolhost/toolhost/internal/testneed"
)

// TestMain is the cache program where the go command starts it.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "go-cache" {
		if err := buildcache.Serve(os.Stdin, os.Stdout, os.Getenv("GOCACHE"), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The go command compiles what the user's cache does not have, and no more, and
// the user's cache stays as it was.
func TestWithTheGoCommand(t *testing.T) {
	program := testneed.Program(t, "go")
	dir, users, pipes, self := t.TempDir(), t.TempDir(), t.TempDir(), selfPath(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n\ngo 1.21\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.go"),
		[]byte("package m\n\nimport _ \"unicode\"\n"), 0o644)) // which needs no runtime, that takes long to compile
	compiles := func(env ...string) []string {
		cmd := exec.CommandContext(t.Context(), program, "build", "-x", "-o", os.DevNull, ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		var packages []string
		for line := range strings.Lines(string(out)) {
			if _, after, ok := strings.Cut(line, "/compile"); ok && strings.Contains(after, " -p ") {
				_, after, _ = strings.Cut(after, " -p ")
				packages = append(packages, strings.Fields(after)[0])
			}
		}
		return packages
	}
	assert.Contains(t, compiles("GOCACHE="+users), "unicode", "a cache that is empty")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.go"),
		[]byte("package m\n\nimport _ \"unicode\"\n\nfunc F() {}\n"), 0o644))
	before := files(t, users)

	done, err := buildcache.Lend(users, pipes)
	require.NoError(t, err)
	defer done()
	own := t.TempDir()
	env := []string{"GOCACHE=" + own, fmt.Sprintf("GOCACHEPROG='%s' go-cache '%s'", self, pipes)}
	assert.Equal(t, []string{"m"}, compiles(env...))
	assert.Empty(t, compiles(env...), "what was built is kept")
	assert.Equal(t, before, files(t, users))
	assert.NotEmpty(t, files(t, own))
}

func selfPath(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

type reply struct {
	ID       int64
	Err      string
	Miss     bool
	Size     int64
	DiskPath string
}

// serve plays the requests and gives the replies after the first, which says
// what is understood.
func serve(t *testing.T, own, pipes string, requests ...string) (replies []reply) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, buildcache.Serve(strings.NewReader(strings.Join(requests, "\n")), &out, own, pipes))
	dec := json.NewDecoder(&out)
	for {
		var r reply
		err := dec.Decode(&r)
		if err == io.EOF {
			return replies[1:]
		}
		require.NoError(t, err)
		replies = append(replies, r)
	}
}

func get(number int, id cache.ActionID) string {
	line, _ := json.Marshal(map[string]any{"ID": number, "Command": "get", "ActionID": id[:]})
	return string(line)
}

func TestGetAndPut(t *testing.T) {
	users, own, pipes := t.TempDir(), t.TempDir(), t.TempDir()
	filled, err := cache.Open(users)
	require.NoError(t, err)
	one, empty, large, other := cache.ActionID{1}, cache.ActionID{2}, cache.ActionID{3}, cache.ActionID{4}
	require.NoError(t, filled.PutBytes(one, []byte("the user's")))
	require.NoError(t, filled.PutBytes(empty, nil))
	require.NoError(t, filled.PutBytes(large, make([]byte, 64<<20+1)))
	done, err := buildcache.Lend(users, pipes)
	require.NoError(t, err)

	put := []string{
		`{"ID":5,"Command":"put","ActionID":"` + "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" + `","BodySize":5}`,
		`"aGVsbG8="`,
		`{"ID":6,"Command":"close"}`, `{"ID":7,"Command":"never read"}`,
	}
	replies := serve(t, own, pipes,
		append([]string{get(1, one), get(2, empty), get(3, large), get(4, other)}, put...)...)
	require.Len(t, replies, 6)
	for i, want := range []struct {
		miss    bool
		content string
	}{{false, "the user's"}, {false, ""}, {true, ""}, {true, ""}, {false, "hello"}} {
		r := replies[i]
		assert.Equal(t, int64(i+1), r.ID)
		assert.Equal(t, want.miss, r.Miss, "%d", r.ID)
		if !want.miss {
			data, err := os.ReadFile(r.DiskPath)
			require.NoError(t, err)
			assert.Equal(t, want.content, string(data))
			assert.True(t, strings.HasPrefix(r.DiskPath, own+"/"), "a copy: %s", r.DiskPath)
		}
	}
	_, err = filled.Get(other)
	assert.Error(t, err, "the user's cache has what the build put into its own")

	// Once nothing is lent any more, what is there already still is.
	done()
	for _, name := range files(t, pipes) {
		t.Error(name, "is a file")
	}
	require.NoError(t, os.RemoveAll(pipes))
	replies = serve(t, own, pipes, get(1, one), get(2, cache.ActionID{9}))
	assert.False(t, replies[0].Miss)
	assert.True(t, replies[1].Miss)
}

// What a hostile build leaves in the pipes has neither side wait or fail.
func TestGarbageInThePipes(t *testing.T) {
	users, pipes := t.TempDir(), t.TempDir()
	filled, err := cache.Open(users)
	require.NoError(t, err)
	require.NoError(t, filled.PutBytes(cache.ActionID{1}, make([]byte, 1<<20)))
	done, err := buildcache.Lend(users, pipes)
	require.NoError(t, err)
	for _, name := range []string{"cache-asks", "cache-answers"} {
		f, err := os.OpenFile(filepath.Join(pipes, name), os.O_RDWR, 0)
		require.NoError(t, err)
		defer f.Close()
		_, err = f.Write(bytes.Repeat([]byte{1}, 1000))
		require.NoError(t, err)
	}
	replies := serve(t, t.TempDir(), pipes, get(1, cache.ActionID{1}), get(2, cache.ActionID{2}))
	assert.True(t, replies[0].Miss)
	assert.True(t, replies[1].Miss)

	// An answer that nobody takes does not keep toolhost.
	f, err := os.OpenFile(filepath.Join(pipes, "cache-asks"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(append([]byte{1}, make([]byte, 31)...))
	require.NoError(t, err)
	done()
}
