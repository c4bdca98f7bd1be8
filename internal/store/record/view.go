package record

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// view is the log at the time of opening.
type view struct {
	log      *eventLog
	segments []viewed
	read     []*segment // the last few read
}

// viewed is a segment of a view; all but the last have a summary.
type viewed struct {
	number int64
	sum    *summary
}

type position struct {
	segment int64
	n       int64 // of the last entry before it
}

// entryLine is the line of an entry, in its segment.
type entryLine struct {
	segment int64
	n       int64
	line    []byte
}

// view opens the log for reading, nil if there is none yet.
func (r *Recorder) view() (*view, error) {
	if r.log == nil {
		return nil, errNoRecord()
	}
	v, err := r.log.view()
	return v, r.failed(err)
}

func (l *eventLog) view() (*view, error) {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	numbers, err := l.segments()
	if err != nil || len(numbers) == 0 {
		return nil, err
	}
	v := &view{log: l}
	for i, number := range numbers {
		s := viewed{number: number}
		if i < len(numbers)-1 {
			if s.sum, err = l.summaryOf(number); err != nil {
				return nil, err
			}
		}
		v.segments = append(v.segments, s)
	}
	last, err := l.readSegment(numbers[len(numbers)-1])
	if err != nil {
		return nil, err
	}
	v.read = append(v.read, last)
	return v, nil
}

// end is the position after all of the view.
func (v *view) end() position {
	last := v.read[0]
	if len(last.lines) == 0 {
		return position{segment: last.number}
	}
	return position{last.number, last.lines[len(last.lines)-1].n}
}

// mostRead bounds the segments that a view keeps in memory, including the last one.
const mostRead = 4

func (v *view) segment(i int) (*segment, error) {
	number := v.segments[i].number
	for _, s := range v.read {
		if s.number == number {
			return s, nil
		}
	}
	s, err := v.log.readSegment(number)
	if err != nil {
		return nil, err
	}
	if len(v.read) >= mostRead {
		v.read = slices.Delete(v.read, 1, 2)
	}
	v.read = append(v.read, s)
	return s, nil
}

// sessions returns the sessions with entries in a segment.
func (v *view) sessions(i int) ([]sessionSummary, error) {
	if sum := v.segments[i].sum; sum != nil {
		return sum.Sessions, nil
	}
	s, err := v.segment(i)
	if err != nil {
		return nil, err
	}
	return s.sessions(), nil
}

// excludes reports whether no selected call begins in a segment.
func (v *view) excludes(i int, f *Filter) bool {
	sum := v.segments[i].sum
	switch {
	case sum == nil:
		return false
	case sum.excludes(f):
		return true
	case f.Status == "":
		return false
	}
	return !slices.ContainsFunc(sum.Statuses, f.hasStatus) &&
		!slices.ContainsFunc(sum.Open, func(n int64) bool { return v.mayHaveStatus(i, n, f) })
}

// mayHaveStatus reports whether a call that does not end in its segment may have the filter's status.
func (v *view) mayHaveStatus(i int, n int64, f *Filter) bool {
	for _, next := range v.segments[i+1:] {
		if next.sum == nil {
			return len(v.read[0].later[n]) > 0 || f.hasStatus(StatusRunning) || f.hasStatus(StatusLost) ||
				f.hasStatus(StatusAsks)
		}
		if status := next.sum.Later[n]; status != "" {
			return f.hasStatus(status)
		}
	}
	return true
}

// eachCall calls yield with the selected calls and the lines of their entries, last call first.
func (v *view) eachCall(ctx context.Context, f *Filter, yield func(*Call, []entryLine) bool) error {
	needles, found := f.needles(), 0
	for i := len(v.segments) - 1; i >= 0; i-- {
		if v.excludes(i, f) {
			continue
		}
		s, err := v.segment(i)
		if err != nil {
			return err
		}
		for at := len(s.calls) - 1; at >= 0; at-- {
			if err := ctx.Err(); err != nil {
				return err
			}
			c, lines, err := v.call(i, s, &s.calls[at], needles)
			if err != nil {
				return err
			}
			if c == nil || !f.chooses(c) {
				continue
			}
			found++
			if !yield(c, lines) || f.Last > 0 && found >= f.Last {
				return nil
			}
		}
	}
	return nil
}

// call reads a call of a segment, nil if its lines do not contain all needles.
func (v *view) call(i int, s *segment, from *callLines, needles [][]byte) (*Call, []entryLine, error) {
	lines := make([]entryLine, 0, 2)
	for _, at := range from.lines {
		lines = append(lines, entryLine{s.number, s.lines[at].n, s.line(at)})
	}
	ended := s.ended(from)
	for next := i + 1; !ended && next < len(v.segments); next++ {
		if sum := v.segments[next].sum; sum != nil {
			if _, has := sum.Later[from.n]; !has {
				continue
			}
		}
		later, err := v.segment(next)
		if err != nil {
			return nil, nil, err
		}
		for _, at := range later.later[from.n] {
			lines = append(lines, entryLine{later.number, later.lines[at].n, later.line(at)})
			ended = ended || later.lines[at].event == finishedEvent
		}
	}
	for _, needle := range needles {
		if !slices.ContainsFunc(lines, func(l entryLine) bool { return bytes.Contains(l.line, needle) }) {
			return nil, nil, nil
		}
	}
	c := &Call{N: from.n}
	for _, line := range lines {
		c.add(line.line)
	}
	if c.Status == StatusRunning && !v.log.alive(c.by) {
		c.Status = StatusLost
	}
	return c, lines, nil
}

// events calls yield with the selected events after a position, oldest first. more is false if yield stopped.
func (v *view) events(ctx context.Context, f *Filter, from position, yield func(Event, error) bool) (more bool,
	err error) {
	show := func(line entryLine) bool {
		event, ok := v.log.event(line)
		return !ok || yield(event, nil)
	}
	switch {
	case f.calls() && from.n == 0:
		return v.callEvents(ctx, f, show)
	case f.Last > 0:
		return v.lastEvents(f, show)
	}
	chosen := make(map[int64]bool)
	for i := range v.segments {
		if v.segments[i].number < from.segment {
			continue
		}
		s, err := v.segment(i)
		if err != nil {
			return false, err
		}
		for at := range s.lines {
			if s.lines[at].n <= from.n {
				continue
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			ok, err := v.chooses(f, &s.lines[at].header, chosen)
			if err != nil {
				return false, err
			}
			if ok && !show(entryLine{s.number, s.lines[at].n, s.line(at)}) {
				return false, nil
			}
		}
	}
	return true, nil
}

// chooses reports whether the filter selects a header's event, by its call if the filter is about calls; known
// caches that.
func (v *view) chooses(f *Filter, h *header, known map[int64]bool) (bool, error) {
	if !f.calls() {
		at, _ := time.Parse(timeFormat, h.at)
		return f.inSession(h.session, h.run) && f.inTime(at), nil
	}
	n := h.call()
	if ok, there := known[n]; there || n == 0 {
		return ok, nil
	}
	for i := len(v.segments) - 1; i >= 0; i-- {
		if sum := v.segments[i].sum; sum != nil && (n < sum.First || n > sum.Last) {
			continue
		}
		s, err := v.segment(i)
		if err != nil {
			return false, err
		}
		if lines := s.call(n); lines != nil {
			c, _, err := v.call(i, s, lines, nil)
			known[n] = err == nil && f.chooses(c)
			return known[n], err
		}
	}
	return false, nil
}

func (v *view) callEvents(ctx context.Context, f *Filter, show func(entryLine) bool) (more bool, err error) {
	all := *f
	all.Last = 0
	var lines []entryLine
	err = v.eachCall(ctx, &all, func(_ *Call, of []entryLine) bool {
		for _, l := range of {
			lines = append(lines, entryLine{l.segment, l.n, bytes.Clone(l.line)})
		}
		return true
	})
	if err != nil {
		return false, err
	}
	slices.SortFunc(lines, func(a, b entryLine) int { return int(a.n - b.n) })
	if f.Last > 0 {
		lines = lines[max(len(lines)-f.Last, 0):]
	}
	return showAll(lines, show), nil
}

// lastEvents shows the last selected events, for a filter that is not about calls.
func (v *view) lastEvents(f *Filter, show func(entryLine) bool) (more bool, err error) {
	var lines []entryLine
	for i := len(v.segments) - 1; i >= 0 && len(lines) < f.Last; i-- {
		if sum := v.segments[i].sum; sum != nil && sum.excludes(f) {
			continue
		}
		s, err := v.segment(i)
		if err != nil {
			return false, err
		}
		for at := len(s.lines) - 1; at >= 0 && len(lines) < f.Last; at-- {
			if ok, _ := v.chooses(f, &s.lines[at].header, nil); ok {
				lines = append(lines, entryLine{s.number, s.lines[at].n, s.line(at)})
			}
		}
	}
	slices.Reverse(lines)
	return showAll(lines, show), nil
}

func showAll(lines []entryLine, show func(entryLine) bool) (more bool) {
	for _, line := range lines {
		if !show(line) {
			return false
		}
	}
	return true
}
