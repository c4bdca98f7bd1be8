package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// clockVariable names the file with a program's clock offset, in seconds. Only
// programs of jumpingProgram read it.
const clockVariable = "TOOLHOST_TEST_CLOCK"

// jump is added to Go's package time.
const jump = `package time

import (
	"syscall"
	"unsafe"
)

// jump is how far the wall clock has jumped, in seconds, in a file that others change.
var jump = func() *int64 {
	name, ok := syscall.Getenv("TOOLHOST_TEST_CLOCK")
	if !ok {
		return nil
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	memory, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return (*int64)(unsafe.Pointer(&memory[0]))
}()

func jumped() int64 {
	if jump == nil {
		return 0
	}
	return *jump
}
`

// jumpingProgram builds toolhost-hub with a package time whose wall clock jumps: the
// whole program sees that, including NATS. Times of files, and commands' clocks, are
// the machine's.
func jumpingProgram(t *testing.T) string {
	t.Helper()
	gotool := testneed.Program(t, "go")
	out, err := exec.Command(gotool, "env", "GOROOT").Output()
	require.NoError(t, err)
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	require.NoError(t, err)
	const reads = "sec, nsec, mono := runtimeNow()\n"
	require.Contains(t, string(text), reads+"\tif mono == 0")
	dir := t.TempDir()
	changed := filepath.Join(dir, "time.go")
	added := filepath.Join(dir, "jump.go")
	jumping := strings.Replace(string(text), reads+"\tif mono == 0", reads+"\tsec += jumped()\n\tif mono == 0", 1)
	require.NoError(t, os.WriteFile(changed, []byte(jumping), 0o600))
	require.NoError(t, os.WriteFile(added, []byte(jump), 0o600))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(source, "time.go"): changed, filepath.Join(source, "jump.go"): added}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	program := filepath.Join(dir, "toolhost-hub")
	build, err := exec.Command(gotool, "build", "-overlay", list, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", build)
	return program
}

// setClock sets the offset of the clocks that read a file.
func setClock(t *testing.T, file string, seconds int64) {
	t.Helper()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = out.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(seconds)), 0)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}
