package record

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Step counts a call of session and returns its number, from 1, which is only a name. Processes share the
// count, in the state, or beside the copies without a state or with an operator's directory.
func (r *Recorder) Step(_ context.Context, session string) (int, error) {
	if err := ValidSession(session); err != nil {
		return 0, err
	}
	if r.log == nil || r.options.Single {
		run, err := r.run(session)
		if err != nil {
			return 0, err
		}
		n, err := run.step()
		return n, failure("count a call in", run.dir, err)
	}
	file, err := r.stepsOf(session)
	if err != nil {
		return 0, failure("count a call in", r.log.dir, err)
	}
	n, err := appendByte(file)
	return int(n), failure("count a call in", r.log.dir, err)
}

// stepsOf returns the open count of a session.
func (r *Recorder) stepsOf(session string) (*os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if file := r.steps[session]; file != nil {
		return file, nil
	}
	if err := os.MkdirAll(r.log.path("steps"), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(r.log.path("steps"), session), stepsFlags, 0o600)
	if err == nil {
		r.steps[session] = file
	}
	return file, err
}

const stepsFlags = os.O_WRONLY | os.O_CREATE | os.O_APPEND

// appendByte appends a byte and returns the position after it. The kernel moves an appending file's offset
// under the same lock as it writes, so every writer gets its own.
func appendByte(file *os.File) (int64, error) {
	if _, err := file.Write([]byte{'.'}); err != nil {
		return 0, err
	}
	return file.Seek(0, io.SeekCurrent)
}
