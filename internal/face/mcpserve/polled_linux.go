package mcpserve

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// polled gives a pipe in a form that the scheduler of goroutines waits for: a read of an
// inherited one keeps a thread, and another has to be woken for what it has read. The
// pipe itself stays as it is, as it is so for all who share it. What is no pipe, or
// cannot be opened again, is given back.
func polled(in io.Reader) (again io.Reader, done func()) {
	file, ok := in.(*os.File)
	if !ok {
		return in, func() {}
	}
	if info, err := file.Stat(); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		return in, func() {}
	}
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return in, func() {}
	}
	return pipe, func() { pipe.Close() }
}
