package background

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// headerSize is the size of a stream file's header: three little-endian numbers, the printed bytes and
// newlines, and the size of each half.
const headerSize = 24

// stream keeps a task's output to one stream in a file of bounded size: a header, the first half, and a ring
// with the last half. The file is locked while it is written and read.
type stream struct {
	file               *os.File
	half, bytes, lines int64
	err                error
}

func newStream(dir *os.Root, name string, most int) (*stream, error) {
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return &stream{file: file, half: int64(max(1, most/2))}, err
}

// write never fails: output that cannot be kept must not break the command.
func (s *stream) write(p []byte) {
	_ = filelock.Wait(s.file, true)
	defer filelock.Unlock(s.file)
	at := s.bytes
	s.bytes += int64(len(p))
	s.lines += int64(bytes.Count(p, []byte{'\n'}))
	if room := s.half - at; room > 0 {
		n := min(room, int64(len(p)))
		s.writeAt(p[:n], at)
		p, at = p[n:], at+n
	}
	if skip := int64(len(p)) - s.half; skip > 0 {
		p, at = p[skip:], at+skip
	}
	for len(p) > 0 {
		offset := (at - s.half) % s.half
		n := min(int64(len(p)), s.half-offset)
		s.writeAt(p[:n], s.half+offset)
		p, at = p[n:], at+n
	}
	var header []byte
	for _, number := range []int64{s.bytes, s.lines, s.half} {
		header = binary.LittleEndian.AppendUint64(header, uint64(number))
	}
	s.writeAt(header, -headerSize)
}

// writeAt writes at a position after the header.
func (s *stream) writeAt(p []byte, at int64) {
	if _, err := s.file.WriteAt(p, headerSize+at); err != nil && s.err == nil {
		s.err = err
	}
}

// close closes the file and returns the first error of all writing.
func (s *stream) close() error {
	if s == nil || s.file == nil {
		return nil
	}
	err := errors.Join(s.err, s.file.Close())
	s.file = nil
	return err
}

// Output returns what a task has printed so far.
func (s *Store) Output(id string) (*Output, error) {
	dir, err := s.openTask(id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var o Output
	for name, to := range map[string]*proc.Output{"stdout": &o.Stdout, "stderr": &o.Stderr} {
		if *to, err = readStream(dir, name); err != nil {
			return nil, unreadable(err)
		}
	}
	return &o, nil
}

func readStream(dir *os.Root, name string) (o proc.Output, err error) {
	file, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	defer file.Close()
	_ = filelock.Wait(file, false)
	data, err := io.ReadAll(file)
	if err != nil || len(data) < headerSize { // nothing was printed
		return o, err
	}
	number := func(i int) int64 { return int64(binary.LittleEndian.Uint64(data[8*i:])) }
	total, newlines, half := number(0), number(1), number(2)
	o.Bytes, o.Lines, o.Head = total, newlines, data[headerSize:]
	if total > 2*half {
		oldest := headerSize + half + (total-half)%half
		o.Tail = truncate.TrimStart(append(append([]byte{}, data[oldest:]...), data[headerSize+half:oldest]...))
		o.Head = truncate.TrimEnd(data[headerSize : headerSize+half])
	}
	last := o.Head
	if len(o.Tail) > 0 {
		last = o.Tail
	}
	if len(last) > 0 && last[len(last)-1] != '\n' {
		o.Lines++
	}
	if o.Omitted = total - int64(len(o.Head)) - int64(len(o.Tail)); o.Omitted > 0 {
		kept := bytes.Count(o.Head, []byte{'\n'}) + bytes.Count(o.Tail, []byte{'\n'})
		o.OmittedLines = max(0, newlines-int64(kept))
	}
	return o, nil
}
