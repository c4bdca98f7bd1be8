package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// within fails the test if do blocks.
func within(t *testing.T, limit time.Duration, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s hangs", what)
	}
}

// copiesOfDevices creates the same devices in a directory of the test.
func copiesOfDevices(t *testing.T, paths []string) (dir string, copies []string) {
	t.Helper()
	dir = realTemp(t)
	for _, path := range paths {
		var info syscall.Stat_t
		if err := syscall.Stat(path, &info); err != nil {
			testneed.Missing(t, "there is no such device here: "+err.Error())
		}
		made := filepath.Join(dir, filepath.Base(path))
		if err := syscall.Mknod(made, uint32(info.Mode), int(info.Rdev)); err != nil {
			testneed.Missing(t, "the root user may not make devices here: "+err.Error())
		}
		copies = append(copies, made)
	}
	return dir, copies
}

func TestSpecialFilesAreRefused(t *testing.T) {
	dir := realTemp(t)
	allowed, devices := "/dev", []string{"/dev/zero", "/dev/tty", "/dev/null", "/dev/full"}
	if testneed.Superuser() { // which could damage the originals
		allowed, devices = copiesOfDevices(t, devices)
	}
	w := open(t, dir, workspace.Options{Allow: []string{allowed}})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	require.NoError(t, os.Symlink("fifo", filepath.Join(dir, "fifolink")))
	t.Chdir(dir) // the path of a socket must be short
	l, err := net.Listen("unix", "sock")
	require.NoError(t, err)
	defer l.Close()
	for _, path := range append([]string{"fifo", "fifolink", "sock"}, devices...) {
		for _, op := range operations() {
			switch op.name {
			case "ReadFile", "Open", "WriteFile", "WriteFile with parents", "Append", "Update", "Batch replace",
				"Chmod":
			default:
				continue
			}
			within(t, time.Minute, op.name+" "+path, func() {
				_, err := op.run(w, path)
				if assert.Error(t, err, "%s %s", op.name, path) {
					assert.Equal(t, tool.Unsupported, tool.CodeOf(err), "%s %s: %v", op.name, path, err)
				}
			})
		}
	}
	info, err := w.Lstat("fifo")
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&fs.ModeNamedPipe)
	assert.EqualValues(t, 0o644, info.Mode().Perm())
	require.NoError(t, w.Remove("fifolink"))
	require.NoError(t, w.Remove("fifo"))
}

func TestModeOwnerAndLinksSurvive(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	writes := map[string]func(path string) error{
		"write": func(path string) error {
			_, err := w.WriteFile(path, []byte("new"), workspace.WriteOptions{Mode: 0o600})
			return err
		},
		"append": func(path string) error {
			_, err := w.Append(path, []byte("new"), workspace.WriteOptions{})
			return err
		},
		"update": func(path string) error {
			return w.Update(path, func([]byte, fs.FileInfo) ([]byte, error) { return []byte("new"), nil })
		},
		"batch": func(path string) error {
			return w.Batch(context.Background(),
				[]workspace.Change{{Kind: workspace.Replace, Path: path, Data: []byte("new")}})
		},
	}
	for name, write := range writes {
		for _, mode := range []fs.FileMode{0o755, 0o644, 0o600, 0o666, 0o640, 0o777, 0o200} {
			if mode == 0o200 && !testneed.Superuser() {
				continue
			}
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			require.NoError(t, os.Chmod(path, mode))
			if testneed.Superuser() {
				if err := os.Chown(path, 1234, 5678); err != nil {
					testneed.Missing(t, "there are no other users here: "+err.Error())
				}
			}
			require.NoError(t, write(name))
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, mode, info.Mode(), name)
			if st := info.Sys().(*syscall.Stat_t); testneed.Superuser() {
				assert.Equal(t, []uint32{1234, 5678}, []uint32{st.Uid, st.Gid}, name)
			}
			require.NoError(t, os.Remove(path))
		}
	}
}

func TestNewFilesHaveTheUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for umask, files := range map[int]map[string][2]fs.FileMode{
		0o027: {
			"plain": {0, 0o640}, "exec": {0o777, 0o750}, "private": {0o600, 0o600},
			"setuid": {fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky | 0o755, 0o750},
		},
		0o002: {"plain": {0, 0o664}, "exec": {0o777, 0o775}, "private": {0o600, 0o600}},
		0o022: {"plain": {0, 0o644}, "exec": {0o777, 0o755}},
	} {
		syscall.Umask(umask)
		dir := realTemp(t)
		w := open(t, dir, workspace.Options{})
		check := func(path string, mode fs.FileMode) {
			t.Helper()
			info, err := os.Stat(filepath.Join(dir, path))
			require.NoError(t, err)
			assert.Equal(t, mode, info.Mode(), "%s with umask %o", path, umask)
		}
		for name, c := range files {
			_, err := w.WriteFile("d/"+name, nil, workspace.WriteOptions{Mode: c[0], Parents: true})
			require.NoError(t, err)
			check("d/"+name, c[1])
			require.NoError(t, w.Batch(context.Background(),
				[]workspace.Change{{Kind: workspace.Create, Path: "b/" + name, Mode: c[0]}}))
			check("b/"+name, c[1])
		}
		_, err := w.Append("appended", []byte("x"), workspace.WriteOptions{})
		require.NoError(t, err)
		check("appended", files["plain"][1])
		check("b", fs.ModeDir|files["exec"][1])
		check("d", fs.ModeDir|files["exec"][1])
	}
}

func TestHardLinksAreNotWrittenThrough(t *testing.T) {
	for _, op := range operations() {
		switch op.name {
		case "WriteFile", "Append", "Update", "Batch replace", "Chmod":
		default:
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			a := newArena(t)
			require.NoError(t, os.Link(filepath.Join(a.outside, "f.txt"), filepath.Join(a.ws, "hard")))
			w := a.open(t, workspace.Options{})
			_, err := op.run(w, "hard")
			if op.name == "Chmod" {
				requireCode(t, tool.Unsupported, err)
			} else {
				require.NoError(t, err)
				assert.Contains(t, content(t, a.ws, "hard"), "attack")
			}
			require.True(t, a.intact(t))
			require.NoError(t, w.Remove("hard"))
			require.True(t, a.intact(t))
		})
	}
}

func TestLargeFilesAreAppendedTo(t *testing.T) {
	testneed.NotShort(t, "writes large files")
	a := newArena(t)
	w := a.open(t, workspace.Options{})
	for _, dir := range []string{a.ws, a.outside} {
		big := filepath.Join(dir, "big")
		require.NoError(t, os.WriteFile(big, nil, 0o640))
		require.NoError(t, os.Truncate(big, 17<<20))
	}
	inode := func() uint64 {
		info, err := os.Stat(filepath.Join(a.ws, "big"))
		require.NoError(t, err)
		return info.Sys().(*syscall.Stat_t).Ino
	}
	before := inode()
	_, err := w.Append("big", []byte("end"), workspace.WriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, before, inode(), "in place")
	assert.Equal(t, "end", content(t, a.ws, "big")[17<<20:])

	require.NoError(t, os.Link(filepath.Join(a.outside, "big"), filepath.Join(a.ws, "hardbig")))
	a.before = a.snapshot(t)
	_, err = w.Append("hardbig", []byte("end"), workspace.WriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, "end", content(t, a.ws, "hardbig")[17<<20:])
	assert.True(t, a.intact(t))
}

func TestChmod(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	plant(t, dir, "f", "x")
	require.NoError(t, os.Symlink("f", filepath.Join(dir, "l")))
	for _, path := range []string{"f", "l"} {
		require.NoError(t, w.Chmod(path, fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|0o711))
		info, err := os.Stat(filepath.Join(dir, "f"))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o711), info.Mode())
		require.NoError(t, w.Chmod(path, 0o4644)) // the raw bit, as in C
		info, err = os.Stat(filepath.Join(dir, "f"))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o644), info.Mode())
	}
	require.NoError(t, w.Chmod("f", 0))
	require.NoError(t, w.Chmod("f", 0o600))
}

func TestReadOnlyFilesStay(t *testing.T) {
	for _, op := range operations() {
		switch op.name {
		case "WriteFile", "Append", "Update", "Batch replace":
		default:
			continue
		}
		dir := realTemp(t)
		w := open(t, dir, workspace.Options{})
		plant(t, dir, "f", "old")
		require.NoError(t, os.Chmod(filepath.Join(dir, "f"), 0o444))
		_, err := op.run(w, "f")
		requireCode(t, tool.PermissionDenied, err)
		assert.Contains(t, err.Error(), "read-only")
		assert.Equal(t, "old", content(t, dir, "f"))
		requireNoTemp(t, dir)
	}
}

// The superuser runs this as an ordinary user.
func TestWithoutPermission(t *testing.T) {
	dir := realTemp(t)
	if !testneed.Superuser() {
		testneed.Missing(t, "only the superuser can play another user")
	}
	cmd := child("denied", dir)
	cmd.Path = "/proc/self/exe" // the binary's own directory is private
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		require.NoError(t, os.Chmod(parent, 0o755))
	}
	reach := exec.Command("/proc/self/exe", "-test.run=^$")
	reach.Dir, reach.SysProcAttr = dir, cmd.SysProcAttr
	if out, err := reach.CombinedOutput(); err != nil {
		testneed.Missing(t, fmt.Sprintf("another user does not reach %s: %v %s", dir, err, out))
	}
	plant(t, dir, "f", "old", "private", secret, "free/theirs", "old")
	require.NoError(t, os.Chmod(filepath.Join(dir, "private"), 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "free"), 0o777))
	require.NoError(t, os.Chmod(filepath.Join(dir, "free/theirs"), 0o444))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "old", content(t, dir, "f"))
	assert.Equal(t, "new", content(t, dir, "free/own"))
	requireNoTemp(t, dir)
}
