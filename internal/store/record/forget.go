package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Forgotten is the result of Forget.
type Forgotten struct {
	// Entries is how many entries were redacted.
	Entries int
	// Copies are the files in the directories of copies that still contain the value.
	Copies []string
	// Damaged is how many unreadable contents were removed.
	Damaged int
}

// Forget removes a value from all entries and their contents. Copies of sessions, which belong to the
// workspace, are only listed.
func (r *Recorder) Forget(value string) (Forgotten, error) {
	f := Forgotten{Copies: r.copiesWith(value)}
	redactor := redact.New([]string{value})
	if r.log == nil || redactor == nil {
		return f, r.Kept()
	}
	return f, failure("rewrite", r.log.dir, r.log.withLock(func() error { return r.log.forget(redactor, &f) }))
}

func (l *eventLog) forget(redactor *redact.Redactor, f *Forgotten) error {
	l.sealing.Wait()
	segments, err := l.segments()
	for _, n := range segments {
		err = errors.Join(err, l.forgetIn(n, redactor, f))
	}
	if l.segment != nil { // may be another file now
		err = errors.Join(err, l.segment.Close())
	}
	l.segment, l.at = nil, end{}
	return err
}

// forgetIn rewrites one segment and keeps its time, by which it is pruned.
func (l *eventLog) forgetIn(n int64, redactor *redact.Redactor, f *Forgotten) error {
	path := l.segmentPath(n)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	needed := make(map[string]bool)
	before := f.Entries + f.Damaged
	for line := range bytes.Lines(data) {
		e, err := readEntry(line)
		if err != nil {
			out.WriteString(redactor.String(string(line)))
			continue
		}
		changed, err := l.forgetEntry(n, &e, redactor, f)
		if err != nil {
			return err
		}
		if changed {
			line = e.format()
		}
		if e.Blob != nil {
			needed[e.Blob.Hash+".gz"] = true
		}
		out.Write(line)
	}
	if !bytes.Equal(out.Bytes(), data) {
		if err := atomicfile.Write(path, out.Bytes(), 0o600); err != nil {
			return err
		}
		if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
			return err
		}
	}
	if before == f.Entries+f.Damaged {
		return nil
	}
	if err := os.Remove(l.summaryPath(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	objects, _ := os.ReadDir(l.objectDir(n))
	for _, object := range objects {
		if !needed[object.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(l.objectDir(n), object.Name())))
		}
	}
	return err
}

func (l *eventLog) forgetEntry(segment int64, e *entry, redactor *redact.Redactor, f *Forgotten) (changed bool, err error) {
	for _, part := range []*json.RawMessage{&e.Body, &e.More, &e.Content} {
		clean := redactor.JSON(*part)
		changed = changed || !bytes.Equal(clean, *part)
		*part = clean
	}
	if e.Blob != nil {
		whole, err := l.load(segment, e)
		clean := redactor.JSON(whole)
		switch {
		case err != nil: // an unreadable content may contain the value
			path := filepath.Join(l.objectDir(segment), filepath.Base(e.Blob.Hash)+".gz")
			if os.Remove(path) == nil {
				f.Damaged++
			}
		case !bytes.Equal(clean, whole):
			p, err := pack(clean)
			if err == nil {
				_, err = l.store(segment, p)
			}
			if err != nil {
				return false, err
			}
			e.Blob, changed = &p.blob, true
		}
	}
	if changed {
		f.Entries++
	}
	return changed, nil
}

// copiesWith returns the copies that contain a value, relative to the root.
func (r *Recorder) copiesWith(value string) (found []string) {
	root, err := os.OpenRoot(r.options.Root)
	if err != nil {
		return nil
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), r.options.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if data, err := root.ReadFile(path); err == nil && bytes.Contains(data, []byte(value)) {
			found = append(found, path)
		}
		return nil
	})
	return found
}
