package launch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"golang.org/x/sys/unix"
)

func TestWalk(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.MkdirAll("a/b/c", 0o755))
	for _, name := range []string{"file", "a/file", "a/b/c/file"} {
		require.NoError(t, os.WriteFile(name, nil, 0o644))
	}
	for name, target := range map[string]string{
		"relative": "a/b", "absolute": filepath.Join(dir, "a"), "up": "a/b/../../a/b/c", "chain": "relative",
		"a/back": "../file",
		"loop":   "loop", "dangling": "nothing", "slash": "a/b/", "fileslash": "file/", "root": "/",
		"exe": "/proc/self/exe", "inner": "absolute/b/c/file",
	} {
		require.NoError(t, os.Symlink(target, name))
	}
	before := "file"
	for i := range mostLinks + 1 { // link39 takes 40 links
		link := "link" + strings.Repeat("x", i)
		require.NoError(t, os.Symlink(before, link))
		before = link
	}
	at, errno := openDescriptor(dir)
	require.Zero(t, errno)
	defer syscall.Close(at)
	root, errno := openDescriptor("/")
	require.Zero(t, errno)
	defer syscall.Close(root)
	paths := []string{
		"file", "a", "a/", "a//b", "./a/./b/", "a/..", "..", "/", "//", "/..", dir, dir + "/a/b/c/file", "file/",
		"file/.", "file/x", "nothing", "nothing/x",
		"relative", "relative/", "relative/c/file", "absolute", "absolute/", "absolute/file", "up/file", "up/../c",
		"chain/c", "a/back", "loop", "loop/", "dangling",
		"dangling/", "slash", "slash/c", "fileslash", "root", "root/", "inner", "exe", "exe/", strings.Repeat("n", 300),
		strings.Repeat("a/../", 500) + "file",
		"link" + strings.Repeat("x", mostLinks-1), "link" + strings.Repeat("x", mostLinks),
	}
	for _, path := range paths {
		for _, noFollow := range []bool{false, true} {
			flags := uint64(0)
			if noFollow {
				flags = syscall.O_NOFOLLOW
			}
			want, wantErrno := openPath(at, path, flags, unix.RESOLVE_NO_MAGICLINKS)
			if wantErrno == syscall.ENOSYS {
				testneed.Missing(t, "there is no openat2 here, as in a sandbox")
			}
			got, errno := walk(root, at, path, noFollow)
			assert.Equal(t, wantErrno, errno, "%s %v", path, noFollow)
			if errno == 0 && wantErrno == 0 {
				assert.Equal(t, identity(t, want), identity(t, got), "%s %v", path, noFollow)
				require.NoError(t, syscall.Close(want))
				require.NoError(t, syscall.Close(got))
			}
		}
	}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	assert.Less(t, len(entries), 20, "nothing stays open")
}

func identity(t *testing.T, fd int) [2]uint64 {
	var stat syscall.Stat_t
	require.NoError(t, syscall.Fstat(fd, &stat))
	return [2]uint64{uint64(stat.Dev), stat.Ino}
}
