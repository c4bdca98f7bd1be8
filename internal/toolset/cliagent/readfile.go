package cliagent

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	hexBytes = 1 << 10 // bytes
)

type readFileParams struct {
	Path  string   `json:"path"`
	Start *integer `json:"start_line"`
	End   *integer `json:"end_line"`
}

type readFileMetadata struct {
	TotalLines    int   `json:"total_lines"`
	LinesReturned int   `json:"lines_returned"`
	FileSizeBytes int64 `json:"file_size_bytes"`
}

func runReadFile(ctx context.Context, deps Deps, _ *tool.Call, p readFileParams) (*outcome, error) {
	f, size, err := p.open(deps)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, whole, err := lines.Open(f)
	if err != nil {
		return nil, err
	}
	if textedit.IsBinary(head) {
		return binaryFile(head, size), nil
	}
	part := &part{first: p.first(), last: p.last()}
	if err := lines.Each(ctx, whole, maxFile, part.add); err != nil {
		return nil, err
	}
	return p.report(part, size)
}

func (p readFileParams) open(deps Deps) (*os.File, int64, error) {
	say := texts{
		missing: fmt.Sprintf("File '%s' not found", p.Path),
		denied:  fmt.Sprintf("Cannot read file '%s' - permission denied", p.Path),
		find:    findFile,
	}
	f, err := deps.Workspace.Open(p.Path)
	if err != nil {
		return nil, 0, pathError(err, p.Path, say)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func binaryFile(head []byte, size int64) *outcome {
	shown := head[:min(len(head), hexBytes)]
	return &outcome{
		Outcome:  kit.Outcome{Truncated: int64(len(shown)) < size},
		output:   "Warning: File appears to be binary, displaying first 1KB as hex\n" + hex.Dump(shown),
		metadata: readFileMetadata{FileSizeBytes: size},
	}
}

func (p readFileParams) first() int {
	if p.Start == nil {
		return 1
	}
	return int(*p.Start)
}

// last returns 0 for the end of the file.
func (p readFileParams) last() int {
	if p.End == nil {
		return 0
	}
	return int(*p.End)
}

func (p readFileParams) report(l *part, size int64) (*outcome, error) {
	first, ended := p.first(), p.End != nil
	if first > max(l.total, 1) || ended && p.last() < first {
		return nil, p.badRange(l.total)
	}
	o := &outcome{metadata: readFileMetadata{l.total, l.returned, size}}
	o.Truncated = l.cut
	if l.returned == 0 {
		first = 0
	}
	last := max(first+l.returned-1, 0)
	if l.cut {
		o.output = fmt.Sprintf("Warning: File is larger than 10MB (%d bytes), showing lines %d-%d; read on with "+
			"start_line and end_line\n", size, first, last)
		if l.partial {
			o.output = fmt.Sprintf("Warning: File is larger than 10MB (%d bytes), showing the first 10MB of line %d\n",
				size,
				first)
		}
	}
	o.output += fmt.Sprintf("Contents of %s (lines %d-%d):\n%s", p.Path, first, last, lines.Shown(l.text))
	return o, nil
}

func (p readFileParams) badRange(total int) *tool.Error {
	last := "end"
	if p.End != nil {
		last = fmt.Sprint(p.last())
	}
	return tool.Errorf(codeInvalidLineRange, "Line range invalid - file has %d lines, requested %d-%s", total,
		p.first(),
		last).
		Suggest("Give a start_line from 1 to %d and an end_line that is not less.", max(total, 1)).
		With("total_lines", total)
}

// part collects the wanted lines and counts all.
type part struct {
	// first and last are the wanted lines, from 1; last 0 is the end.
	first, last int

	text            []byte
	total, returned int
	// cut is set if lines were left out because the text is too long, partial if the only line is cut.
	cut, partial bool
}

// add counts a line, and keeps it if it is wanted and fits.
func (l *part) add(line lines.Line) {
	l.total = line.Number
	if l.cut || l.total < l.first || l.last > 0 && l.total > l.last {
		return
	}
	room := maxFile - len(l.text)
	l.cut = line.Size > room
	switch {
	case !l.cut:
		l.text = append(l.text, line.Text...)
		l.returned++
	case l.returned == 0:
		l.partial = true
		l.text = truncate.TrimEnd(append(l.text, line.Text[:room]...))
		l.returned++
	}
}
