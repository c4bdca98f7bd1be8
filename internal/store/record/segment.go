package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

// summary describes a segment, so that readers can skip it. Only the last segment changes; a summary for
// another size is replaced.
type summary struct {
	Size int64 `json:"size"`
	// First and Last are the numbers of its entries.
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	// From and To are the times of its entries, in microseconds.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Sessions are those with entries in it.
	Sessions []sessionSummary `json:"sessions"`
	// Tools are those of the calls that begin in it, Statuses of those that also end in it.
	Tools    []string `json:"tools"`
	Statuses []string `json:"statuses"`
	// Open are the calls that begin but do not end in it.
	Open []int64 `json:"open,omitempty"`
	// Later are earlier calls with entries in it, with the status of those that end in it.
	Later map[int64]string `json:"later,omitempty"`
}

type sessionSummary struct {
	Name  string `json:"name"`
	Run   string `json:"run,omitempty"`
	Last  int64  `json:"last"`
	Bytes int64  `json:"bytes"`
}

type segment struct {
	number int64
	data   []byte
	lines  []lineAt // of entries
	calls  []callLines
	later  map[int64][]int // lines of calls that began before it
}

// lineAt is the position of a line in its segment, and its header.
type lineAt struct {
	header
	from, to int
}

type callLines struct {
	n     int64
	lines []int
}

func (s *segment) line(i int) []byte { return s.data[s.lines[i].from:s.lines[i].to] }

// readSegment reads the complete lines of a segment. One dropped meanwhile is empty.
func (l *eventLog) readSegment(number int64) (*segment, error) {
	data, err := os.ReadFile(l.segmentPath(number))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s := &segment{number: number, data: data[:bytes.LastIndexByte(data, '\n')+1], later: make(map[int64][]int)}
	began := make(map[int64]int)
	last := int64(0)
	for from := 0; from < len(s.data); {
		to := from + bytes.IndexByte(s.data[from:], '\n') + 1
		h, ok := readHeader(s.data[from:to])
		if ok && h.n > last && (h.event != prunedEvent || h.session != "") {
			last = h.n
			i := len(s.lines)
			s.lines = append(s.lines, lineAt{h, from, to})
			s.addToCall(began, h.call(), i)
		}
		from = to
	}
	return s, nil
}

func (s *segment) addToCall(began map[int64]int, call int64, line int) {
	at, known := began[call]
	switch {
	case call == 0:
	case known:
		s.calls[at].lines = append(s.calls[at].lines, line)
	case call == s.lines[line].n:
		began[call] = len(s.calls)
		s.calls = append(s.calls, callLines{call, []int{line}})
	default:
		s.later[call] = append(s.later[call], line)
	}
}

func (s *segment) ended(c *callLines) bool {
	return slices.ContainsFunc(c.lines, func(i int) bool { return s.lines[i].event == finishedEvent })
}

// call returns a call that began in the segment, or nil.
func (s *segment) call(n int64) *callLines {
	at, ok := slices.BinarySearchFunc(s.calls, n, func(c callLines, n int64) int { return int(c.n - n) })
	if !ok {
		return nil
	}
	return &s.calls[at]
}

// sessions counts the entries of each session.
func (s *segment) sessions() []sessionSummary {
	type key struct{ name, run string }
	all := make(map[key]*sessionSummary)
	for i, line := range s.lines {
		k := key{line.session, line.run}
		if all[k] == nil {
			all[k] = &sessionSummary{Name: k.name, Run: k.run}
		}
		all[k].Last = max(all[k].Last, microseconds(line.at))
		all[k].Bytes += int64(line.to - line.from)
		if bytes.Contains(s.line(i), []byte(`,"blob":{"sha256":"`)) {
			if e, err := readEntry(s.line(i)); err == nil && e.Blob != nil {
				all[k].Bytes += e.Blob.Bytes
			}
		}
	}
	sessions := make([]sessionSummary, 0, len(all))
	for _, session := range all {
		sessions = append(sessions, *session)
	}
	return sessions
}

func microseconds(at string) int64 {
	t, _ := time.Parse(timeFormat, at)
	return t.UnixMicro()
}

func (s *segment) summary(size int64) *summary {
	sum := &summary{Size: size, Sessions: s.sessions(), Later: make(map[int64]string)}
	if len(s.lines) > 0 {
		sum.First, sum.Last = s.lines[0].n, s.lines[len(s.lines)-1].n
		sum.From, sum.To = microseconds(s.lines[0].at), microseconds(s.lines[0].at)
	}
	for _, line := range s.lines {
		at := microseconds(line.at)
		sum.From, sum.To = min(sum.From, at), max(sum.To, at)
	}
	tools, statuses := make(map[string]bool), make(map[string]bool)
	for i := range s.calls {
		c := &s.calls[i]
		call := Call{N: c.n}
		for _, line := range c.lines {
			call.add(s.line(line))
		}
		tools[call.Tool] = true
		if s.ended(c) {
			statuses[call.Status] = true
		} else {
			sum.Open = append(sum.Open, c.n)
		}
	}
	for n, lines := range s.later {
		var call Call
		for _, line := range lines {
			call.add(s.line(line))
		}
		if sum.Later[n] = ""; s.ended(&callLines{n, lines}) {
			sum.Later[n] = call.Status
		}
	}
	sum.Tools, sum.Statuses = slices.Sorted(maps.Keys(tools)), slices.Sorted(maps.Keys(statuses))
	return sum
}

// summaryOf returns the summary of a finished segment, and writes it if missing.
func (l *eventLog) summaryOf(number int64) (*summary, error) {
	size := fileSize(l.segmentPath(number))
	sum := new(summary)
	if data, err := os.ReadFile(l.summaryPath(number)); err == nil && json.Unmarshal(data, sum) == nil &&
		sum.Size == size {
		return sum, nil
	}
	s, err := l.readSegment(number)
	if err != nil {
		return nil, err
	}
	sum = s.summary(size)
	if data, err := marshal(sum); err == nil {
		_ = atomicfile.WriteCache(l.summaryPath(number), append(data, '\n')) // otherwise the next reader makes it
	}
	return sum, nil
}

// excludes reports whether no selected call begins in the segment, regardless of status.
func (sum *summary) excludes(f *Filter) bool {
	switch {
	case f.Tool != "" && !slices.Contains(sum.Tools, f.Tool),
		!f.Since.IsZero() && f.Since.UnixMicro() > sum.To,
		!f.Until.IsZero() && f.Until.UnixMicro() <= sum.From:
		return true
	}
	if f.Session != "" || f.run != "" {
		if !slices.ContainsFunc(sum.Sessions, func(s sessionSummary) bool { return f.inSession(s.Name, s.Run) }) {
			return true
		}
	}
	return false
}
