package search

import (
	"context"
	"errors"
	"io"
)

type worker struct {
	files *opener
	job   *job
	stop  <-chan struct{}
	buf   []byte

	found    []fileHits // in order of path
	searched int
	kept     kept // in found
	skip     int  // matches of each file that are only counted
}

func (w *worker) searchAll(ctx context.Context, names []string) {
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		// Files that cannot be opened are skipped.
		if f, size, err := w.files.open(name); err == nil {
			w.searchFile(name, f, size)
			f.Close()
		}
	}
}

// searchFile searches one file; size may be -1. An unreadable file is skipped.
func (w *worker) searchFile(name string, f source, size int64) {
	data, rest, err := w.read(f, size)
	if err != nil {
		return
	}
	found := fileHits{path: name, skip: w.skip}
	if rest == nil {
		in := &input{text: decode(data), query: w.job.Query, pattern: w.job.pattern, stop: w.stop}
		in.search(&found)
	} else if !w.searchWindows(data, rest, &found) {
		return
	}
	w.searched++
	if found.count == 0 {
		return
	}
	w.found = append(w.found, found)
	if w.kept.add(&found); w.kept.many(w.job.Query, 3) {
		w.kept.prune(w.found, w.job.Query)
	}
}

// read returns the content of a file, valid until the next call. Of a file larger than windowSize it returns the
// start, and the rest as a reader.
func (w *worker) read(f source, size int64) (data []byte, rest io.Reader, err error) {
	if w.buf == nil {
		w.buf = make([]byte, 64<<10)
	}
	for n := 0; ; {
		if n == len(w.buf) {
			if n >= windowSize {
				return w.buf, f, nil
			}
			w.buf = append(w.buf, make([]byte, len(w.buf))...)
		}
		m, err := f.Read(w.buf[n:])
		n += m
		if errors.Is(err, io.EOF) || err == nil && n > 0 && int64(n) == size {
			return w.buf[:n], nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}
