package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/plainfile"
)

// followPause is how often a follower looks for more. There is no watcher: a
// stat costs microseconds and works on every file system.
const followPause = 100 * time.Millisecond

// Event is one line of a record.
type Event struct {
	// Session is whose record it is from, where those of all are read.
	Session string
	// Name is the kind of event.
	Name string
	// Time is when it was written, in UTC.
	Time time.Time
	// Line is the whole JSON object, without a newline.
	Line json.RawMessage
}

// ReadOptions says which events to read.
type ReadOptions struct {
	// Last skips all but so many of the events that are there at the
	// beginning. Zero reads all.
	Last int
	// Follow goes on with the events that come later, until ctx ends.
	Follow bool
}

// Events reads session's record, oldest event first. It ends with the record,
// or, when following, with ctx; an error is the last thing it gives. Lines
// that are no events, such as one torn by a full disk, are left out.
func (r *Recorder) Events(ctx context.Context, session string, o ReadOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		reader, err := r.newReader(session, o)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer reader.close()
		if err := reader.run(ctx, o, yield); err != nil {
			yield(Event{}, failure("read", r.ArtifactDir(session), err))
		}
	}
}

// reader reads the event files of one run.
type reader struct {
	root *os.Root
	file *os.File
	rest []byte
}

func (r *Recorder) newReader(session string, o ReadOptions) (*reader, error) {
	if err := ValidSession(session); err != nil {
		return nil, err
	}
	root, err := r.openRun(session, o.Follow)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Errorf(tool.NotFound, "session %s has no record in %s", session, r.ArtifactDir(session)).
			Suggest("Check the session's name; a record begins with the session's first call.")
	}
	if err != nil {
		return nil, failure("read", r.ArtifactDir(session), err)
	}
	return &reader{root: root}, nil
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close()
	}
	r.root.Close()
}

// run gives what is there, then what comes. It ends early, without an error,
// when yield has had enough.
func (r *reader) run(ctx context.Context, o ReadOptions, yield func(Event, error) bool) error {
	present, err := r.present()
	if err != nil {
		return err
	}
	if o.Last > 0 && len(present) > o.Last {
		present = present[len(present)-o.Last:]
	}
	if !give(present, yield) || !o.Follow {
		return nil
	}
	for {
		events, err := r.more()
		if err != nil {
			return err
		}
		if !give(events, yield) {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

func give(events []Event, yield func(Event, error) bool) bool {
	for _, event := range events {
		if !yield(event, nil) {
			return false
		}
	}
	return true
}

// present reads what both event files hold now and leaves the newer one open.
func (r *reader) present() ([]Event, error) {
	var events []Event
	for _, name := range []string{olderFile, eventsFile} {
		file, err := plainfile.OpenIn(r.root, name, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r.leave(file)
		read, err := r.read()
		if err != nil {
			return nil, err
		}
		events = append(events, read...)
	}
	return events, nil
}

// leave goes over to another file.
func (r *reader) leave(next *os.File) {
	if r.file != nil {
		r.file.Close()
	}
	r.file, r.rest = next, nil
}

// more reads what was written since, going over to the new file where the one
// being read was put aside.
func (r *reader) more() ([]Event, error) {
	next, err := plainfile.OpenIn(r.root, eventsFile, os.O_RDONLY, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// What is open is read to its end after the look for a new file, so that
	// no line written just before the change is missed.
	events, readErr := r.read()
	switch {
	case readErr != nil || next == nil:
		return events, readErr
	case r.file != nil && sameFile(r.file, next):
		next.Close()
		return events, nil
	}
	r.leave(next)
	newer, err := r.read()
	return append(events, newer...), err
}

func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// read gives the whole lines from the file's position on; the beginning of a
// line that is not finished yet waits for the next time.
func (r *reader) read() ([]Event, error) {
	if r.file == nil {
		return nil, nil
	}
	var events []Event
	in := bufio.NewReaderSize(r.file, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		line = append(r.rest, line...)
		r.rest = nil
		if err == io.EOF {
			r.rest = line
			return events, nil
		}
		if err != nil {
			return events, err
		}
		if event, ok := parse(bytes.TrimSpace(line)); ok {
			events = append(events, event)
		}
	}
}

func parse(line []byte) (Event, bool) {
	var head struct {
		Event     string    `json:"event"`
		Timestamp time.Time `json:"timestamp"`
	}
	if len(line) == 0 || json.Unmarshal(line, &head) != nil || head.Event == "" {
		return Event{}, false
	}
	return Event{Name: head.Event, Time: head.Timestamp, Line: line}, true
}
