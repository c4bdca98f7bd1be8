package record

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// AllEvents reads the records of all sessions as one, the oldest event first.
// It ends with what is there or, when following, with ctx; sessions that begin
// meanwhile are followed too. An error is the last thing it gives.
func (r *Recorder) AllEvents(ctx context.Context, o ReadOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		readers := make(map[string]*reader)
		defer func() {
			for _, reader := range readers {
				reader.close()
			}
		}()
		last := o.Last
		for {
			events, err := r.news(readers)
			if err != nil {
				yield(Event{}, failure("read", r.options.Dir, err))
				return
			}
			if last > 0 && len(events) > last {
				events = events[len(events)-last:]
			}
			last = 0
			if !give(events, yield) || !o.Follow {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(followPause):
			}
		}
	}
}

// news gives what came since the last time in the records of all sessions.
func (r *Recorder) news(readers map[string]*reader) ([]Event, error) {
	sessions, err := r.sessions()
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, session := range sessions {
		events, err := r.newsOf(session, readers)
		if err != nil {
			return nil, err
		}
		for i := range events {
			events[i].Session = session
		}
		all = append(all, events...)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return all, nil
}

func (r *Recorder) newsOf(session string, readers map[string]*reader) ([]Event, error) {
	if reader, ok := readers[session]; ok {
		return reader.more()
	}
	reader, err := r.newReader(session, ReadOptions{})
	if e, ok := errors.AsType[*tool.Error](err); ok && e.Code == tool.NotFound {
		return nil, nil // removed since it was listed
	}
	if err != nil {
		return nil, err
	}
	readers[session] = reader
	return reader.present()
}

// sessions names those that have a run directory.
func (r *Recorder) sessions() ([]string, error) {
	if r.options.Single {
		return []string{"cli"}, nil
	}
	root, err := r.openRuns()
	if root == nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && ValidSession(entry.Name()) == nil {
			names = append(names, entry.Name())
		}
	}
	return names, err
}
