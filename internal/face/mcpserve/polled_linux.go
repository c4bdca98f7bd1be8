package mcpserve

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// polled reopens in, if it is a pipe, in non-blocking mode, so that the runtime's poller waits for data:
// reading an inherited pipe would block a thread. Programs that share the pipe are not affected. done
// closes what was reopened.
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
