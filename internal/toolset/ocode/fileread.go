package ocode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
)

const (
	readShown = 1 << 20 // bytes
	// beyond is room for a line ending and a byte order mark.
	beyond = 16
)

type fileReadParams struct {
	Path  string          `json:"path"`
	Start schema.Integer  `json:"start_line"`
	End   *schema.Integer `json:"end_line"`
}

// firstLine converts the old offset, from 0, to a line number.
func firstLine(old json.RawMessage, _ map[string]json.RawMessage) (json.RawMessage, bool) {
	var n schema.Integer
	if json.Unmarshal(old, &n) != nil {
		return nil, false
	}
	return tool.MustMarshal(max(n, 1)), true
}

// endOfLimit converts the old limit, a number of lines (all if zero or negative), to the last line.
func endOfLimit(old json.RawMessage, all map[string]json.RawMessage) (json.RawMessage, bool) {
	var limit schema.Integer
	if json.Unmarshal(old, &limit) != nil {
		return nil, false
	}
	if limit <= 0 {
		return json.RawMessage("2147483647"), true
	}
	start := schema.Integer(1)
	for _, name := range []string{"start_line", "offset"} {
		if given, ok := all[name]; ok {
			_ = json.Unmarshal(given, &start)
			break
		}
	}
	return tool.MustMarshal(max(start, 1) + limit - 1), true
}

func (p fileReadParams) check() error {
	if p.Start < 1 {
		return invalid("Lines count from 1.", "Invalid start_line: %d", p.Start)
	}
	if p.End != nil && *p.End < p.Start {
		return invalid("Give an end_line that is not less than start_line.", "Invalid line range: %d to %d", p.Start,
			*p.End)
	}
	return nil
}

func runFileRead(ctx context.Context, deps Deps, _ *tool.Call, p fileReadParams) (*outcome, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	f, err := deps.Workspace.Open(p.Path)
	if err != nil {
		return nil, pathError(err, p.Path)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head, whole, err := lines.Open(f)
	if err != nil {
		return nil, err
	}
	if textedit.IsBinary(head) {
		return nil, tool.Errorf(tool.BinaryFile, "Not a text file: %s (%d bytes)", p.Path, info.Size()).
			Suggest("Look at it with a program that knows its format, through the bash tool.").With("path", p.Path)
	}
	l := numbered{first: int(p.Start)}
	if p.End != nil {
		l.last = int(*p.End)
	}
	if err := lines.Each(ctx, whole, readShown+beyond, l.add); err != nil {
		return nil, err
	}
	return p.report(&l, info.Size())
}

func (p fileReadParams) report(l *numbered, size int64) (*outcome, error) {
	if l.shown == 0 && (l.total > 0 || l.first > 1) {
		return nil,
			tool.Errorf(tool.InvalidArgument, "Invalid start_line: %d, the file has %s", l.first, counted(l.total, "line")).
				Suggest("Give a start_line from 1 to %d.", max(l.total, 1)).With("total_lines", l.total)
	}
	end := l.first + l.shown - 1
	o := &outcome{output: strings.TrimSuffix(l.text.String(), "\n"), metadata: facts{
		"path": p.Path, "total_lines": l.total, "start_line": l.first, "end_line": end, "size_bytes": size,
	}}
	if l.cut {
		o.Truncated = true
		o.warn(fmt.Sprintf("lines %d to %d of %d are shown; read on with start_line=%d", l.first, end, l.total, end+1))
	}
	if l.long > 0 {
		o.Truncated = true
		o.warn(fmt.Sprintf("line %d is longer than %d bytes and is shown in part; use bash with cut -c to see the rest",
			l.long, readShown))
	}
	return o, nil
}

// numbered collects the wanted lines with their numbers, and counts all.
type numbered struct {
	first, last  int // last 0 is the end
	text         strings.Builder
	total, shown int
	// cut is set if lines were left out because the text is too long. long names a line that is cut.
	cut  bool
	long int
}

// add counts a line, and shows it if it is wanted and fits.
func (l *numbered) add(of lines.Line) {
	l.total = of.Number
	if l.cut || l.total < l.first || l.last > 0 && l.total > l.last {
		return
	}
	line := of.Content()
	if of.Ending == 0 {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	if l.total == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if l.text.Len()+len(line) > readShown {
		if l.shown > 0 {
			l.cut = true
			return
		}
		l.long = l.total
		line = line[:readShown]
	}
	l.shown++
	fmt.Fprintf(&l.text, "%d | %s\n", l.total, lines.Shown(line))
}

// counted returns "1 line" and "2 lines".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
