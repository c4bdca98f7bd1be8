package mcpserve

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

// A pipe gets its own open file description: what a client and its other programs share stays blocking.
func TestAPipeIsPolled(t *testing.T) {
	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	inherited, client := os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe")
	defer inherited.Close()
	in, done := polled(inherited)
	require.NotSame(t, inherited, in)
	flags, err := unix.FcntlInt(inherited.Fd(), unix.F_GETFL, 0)
	require.NoError(t, err)
	assert.Zero(t, flags&unix.O_NONBLOCK)

	first := make(chan string)
	go func() {
		data := make([]byte, 10)
		n, _ := in.Read(data)
		first <- string(data[:n])
	}()
	_, err = client.WriteString("a line\n")
	require.NoError(t, err)
	assert.Equal(t, "a line\n", testproc.Receive(t, first, "a line"))
	require.NoError(t, client.Close())
	rest, err := io.ReadAll(in)
	assert.NoError(t, err)
	assert.Empty(t, rest)

	done()
	_, err = in.Read(make([]byte, 1))
	assert.ErrorIs(t, err, os.ErrClosed)
}

// A file is not read twice, and a pipe without a writer does not block.
func TestWhatIsNotPolled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("ab"), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	_, err = io.ReadFull(file, make([]byte, 1))
	require.NoError(t, err)
	in, _ := polled(file)
	rest, err := io.ReadAll(in)
	assert.NoError(t, err)
	assert.Equal(t, "b", string(rest))

	text := strings.NewReader("c")
	in, _ = polled(text)
	assert.Same(t, text, in)

	named := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(named, 0o600))
	lonely, err := os.OpenFile(named, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer lonely.Close()
	in, done := polled(lonely)
	defer done()
	rest, err = io.ReadAll(in)
	assert.NoError(t, err, "the end, as without a writer before")
	assert.Empty(t, rest)
}
