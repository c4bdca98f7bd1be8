package proc

import (
	"os"

	"github.com/toolhost/toolhost/host/tool"
)

// Size is that of a terminal, in characters.
type Size struct{ Rows, Columns uint16 }

// Terminal is a pseudo-terminal for a command: its standard streams and controlling terminal. Run closes both
// ends.
type Terminal struct{ host, theirs *os.File }

// Host returns the end for typing. Run reads the output.
func (t *Terminal) Host() *os.File { return t.host }

// Close closes both ends of a terminal without a command.
func (t *Terminal) Close() {
	for _, end := range []*os.File{t.host, t.theirs} {
		if end != nil {
			_ = end.Close()
		}
	}
}

func noTerminal(err error) *tool.Error {
	return tool.Errorf(tool.Unavailable, "there is no terminal for the command: %w", err).
		Suggest("Run it without one.")
}

// plumbTerminal connects the process to its terminal, which is read as standard output.
func (r *run) plumbTerminal() (theirs []*os.File, err error) {
	host, end := r.Terminal.host, r.Terminal.theirs
	r.pipes, r.outputs = append(r.pipes, host), append(r.outputs, host)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = end, end, end
	r.readers.Go(func() { r.stdout.readFrom(host) })
	go func() { r.readers.Wait(); close(r.drained) }()
	return []*os.File{end}, nil
}
