package background

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/excerpt"
	"github.com/toolhost/toolhost/internal/files/plainfile"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// A stream is kept in two files: NAME.log holds its beginning, up to the limit
// for files, and NAME.end the counts of all that was printed and, once the log
// is full, the last ringSize bytes of it, at their position modulo ringSize.
const (
	logSuffix  = ".log"
	endSuffix  = ".end"
	headerSize = 16 // bytes, then newlines, that were printed
	ringSize   = 2 << 20
)

// writer keeps a stream.
type writer struct {
	log, end     *os.File
	limit        int64
	bytes, lines int64
	err          error
}

func newWriter(dir *os.Root, stream string, limit int64) (*writer, error) {
	w := &writer{limit: limit}
	var err error
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if w.log, err = dir.OpenFile(stream+logSuffix, flags, 0o600); err != nil {
		return nil, err
	}
	w.end, err = dir.OpenFile(stream+endSuffix, flags, 0o600)
	return w, err
}

// write never fails for its caller: output that cannot be kept must not break
// the command that prints it.
func (w *writer) write(p []byte) {
	if room := w.limit - w.bytes; room > 0 {
		n := min(room, int64(len(p)))
		w.note(w.log.WriteAt(p[:n], w.bytes))
	}
	if w.bytes+int64(len(p)) > w.limit {
		w.ring(p)
	}
	w.bytes += int64(len(p))
	w.lines += int64(bytes.Count(p, []byte{'\n'}))
	var header [headerSize]byte
	binary.LittleEndian.PutUint64(header[:8], uint64(w.bytes))
	binary.LittleEndian.PutUint64(header[8:], uint64(w.lines))
	w.note(w.end.WriteAt(header[:], 0))
}

// ring writes what comes at position w.bytes.
func (w *writer) ring(p []byte) {
	at := w.bytes
	if skip := len(p) - ringSize; skip > 0 {
		p, at = p[skip:], at+int64(skip)
	}
	for len(p) > 0 {
		offset := at % ringSize
		n := min(int64(len(p)), ringSize-offset)
		w.note(w.end.WriteAt(p[:n], headerSize+offset))
		p, at = p[n:], at+n
	}
}

func (w *writer) note(_ int, err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) close() error {
	w.note(0, errors.Join(w.log.Close(), w.end.Close()))
	return w.err
}

// Output gives what a task has printed so far.
func (s *Store) Output(id string) (*Output, error) {
	dir, err := s.openTask(id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var o Output
	for name, to := range map[string]*proc.Output{"stdout": &o.Stdout, "stderr": &o.Stderr} {
		if *to, err = s.read(dir, id, name); err != nil {
			return nil, unreadable(err)
		}
	}
	return &o, nil
}

// read reads the head and the tail of a stream.
func (s *Store) read(dir *os.Root, id, stream string) (proc.Output, error) {
	log, err := dir.Open(stream + logSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return proc.Output{}, nil
	}
	if err != nil {
		return proc.Output{}, err
	}
	defer log.Close()
	end, err := dir.Open(stream + endSuffix)
	if err != nil {
		return proc.Output{}, err
	}
	defer end.Close()
	r := reader{log: log, end: end, cap: int64(s.options.OutputCap)}
	o, err := r.read()
	if o.Omitted > 0 && s.options.Root != "" {
		o.Path, o.SpillErr = s.copied(log, path.Join(CopyDir, id, stream+logSuffix), o.PathBytes)
	}
	return o, err
}

// copied gives the path of a copy of the first size bytes in the workspace, made
// now unless there is one of that size. What is read later is never the copy.
func (s *Store) copied(log io.ReaderAt, name string, size int64) (string, error) {
	root, err := plainfile.Root(s.options.Root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	whole := filepath.Join(s.options.Root, filepath.FromSlash(name))
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() == size {
		return whole, nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return "", err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, io.NewSectionReader(log, 0, size))
	return whole, errors.Join(err, file.Close())
}

// reader reads a stream that may grow meanwhile.
type reader struct {
	log, end *os.File
	cap      int64
}

func (r *reader) read() (o proc.Output, err error) {
	total, lines, err := r.counts()
	if err != nil {
		return o, err
	}
	info, err := r.log.Stat()
	if err != nil {
		return o, err
	}
	o.Bytes, o.Lines, o.PathBytes = total, lines, min(info.Size(), total)
	if total <= r.cap && total <= o.PathBytes {
		o.Head, err = section(r.log, 0, total)
		if len(o.Head) > 0 && o.Head[len(o.Head)-1] != '\n' {
			o.Lines++
		}
		return o, err
	}
	half := r.cap / 2
	if o.Head, err = section(r.log, 0, min(half, o.PathBytes)); err != nil {
		return o, err
	}
	if o.Tail, err = r.tail(total, o.PathBytes, r.cap-half); err != nil {
		return o, err
	}
	o.Head, o.Tail = excerpt.TrimEnd(o.Head), excerpt.TrimStart(o.Tail)
	if len(o.Tail) > 0 && o.Tail[len(o.Tail)-1] != '\n' {
		o.Lines++
	}
	o.Omitted = total - int64(len(o.Head)) - int64(len(o.Tail))
	o.OmittedLines = max(0, lines-int64(bytes.Count(o.Head, []byte{'\n'}))-int64(bytes.Count(o.Tail, []byte{'\n'})))
	return o, nil
}

// counts reads the header; none yet means that nothing was printed.
func (r *reader) counts() (total, lines int64, err error) {
	var header [headerSize]byte
	if _, err := r.end.ReadAt(header[:], 0); errors.Is(err, io.EOF) {
		return 0, 0, nil
	} else if err != nil {
		return 0, 0, err
	}
	return int64(binary.LittleEndian.Uint64(header[:8])), int64(binary.LittleEndian.Uint64(header[8:])), nil
}

// tailRounds bounds how often the tail is read anew because it was overwritten
// meanwhile.
const tailRounds = 5

// tail reads the size bytes before position total. Past the log they are in
// the ring, whose oldest part may be overwritten while it is read.
func (r *reader) tail(total, logged, size int64) (tail []byte, err error) {
	size = min(size, total, ringSize/2)
	if total <= logged {
		return section(r.log, total-size, size)
	}
	for range tailRounds {
		if tail, err = r.around(total-size, size, logged); err != nil {
			return nil, err
		}
		now, _, err := r.counts()
		if err != nil || now-total < ringSize-size {
			return tail, err
		}
	}
	return tail, nil
}

// around reads size bytes from position at on, from the ring and, where that
// does not reach back so far, from the log.
func (r *reader) around(at, size, logged int64) ([]byte, error) {
	var out []byte
	if at < logged {
		part, err := section(r.log, at, min(size, logged-at))
		if err != nil {
			return nil, err
		}
		out, at, size = part, at+int64(len(part)), size-int64(len(part))
	}
	for size > 0 {
		offset := at % ringSize
		n := min(size, ringSize-offset)
		part, err := section(r.end, headerSize+offset, n)
		if err != nil {
			return nil, err
		}
		if len(part) == 0 {
			return out, nil
		}
		out, at, size = append(out, part...), at+int64(len(part)), size-int64(len(part))
	}
	return out, nil
}

func section(f *os.File, at, size int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(f, at, size))
}
