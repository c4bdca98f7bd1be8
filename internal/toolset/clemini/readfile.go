package clemini

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	defaultLines = 2000
	// maxShown limits the contents of an answer, maxLine a line, in bytes.
	maxShown = 1 << 20
	maxLine  = 64 << 10
)

type readInput struct {
	Path   string  `json:"file_path"`
	Offset integer `json:"offset"`
	Limit  integer `json:"limit"`
}

type readResult struct {
	Contents  string `json:"contents"`
	Total     int    `json:"total_lines"`
	Truncated bool   `json:"truncated,omitempty"`
	Context   *hint  `json:"context,omitempty"`
}

func runRead(ctx context.Context, deps Deps, call *tool.Call, in readInput) (*outcome, error) {
	f, err := deps.Workspace.Open(in.Path)
	if err != nil {
		return nil, pathError(err, in.Path, findFile)
	}
	defer f.Close()
	head, whole, err := lines.Open(f)
	if err != nil {
		return nil, pathError(err, in.Path, findFile)
	}
	if _, err := textedit.Decode(head); err != nil {
		return nil, tool.Errorf(tool.BinaryFile, "Binary file: %s", in.Path).
			Suggest("It cannot be shown as text; with bash, file and xxd tell what it is.").With("path", in.Path)
	}
	p := part{first: int(in.Offset), limit: int(in.Limit)}
	if err := lines.Each(ctx, whole, maxLine+len("\r\n"), p.add); err != nil {
		return nil, err
	}
	return in.report(&p)
}

// Default implements kit.Defaults.
func (in *readInput) Default() { in.Offset, in.Limit = 1, defaultLines }

func (in readInput) report(p *part) (*outcome, error) {
	if p.first > max(1, p.total) {
		return nil, tool.Errorf(tool.InvalidArgument, "offset %d is behind the end of %s, which has %d lines", p.first,
			in.Path, p.total).
			Suggest("Give an offset from 1 to %d.", max(1, p.total)).With("total_lines", p.total)
	}
	r := readResult{Contents: p.text.String(), Total: p.total}
	hints := []string{}
	if next := p.first + p.shown; next <= p.total {
		hints = append(hints, fmt.Sprintf("%d more lines follow; read on with offset %d.", p.total-next+1, next))
	}
	if p.long > 0 {
		hints = append(hints, fmt.Sprintf("Line %d is longer than %d bytes, and its end is left out; with bash, "+
			"sed -n %dp and cut -c show it.", p.long, maxLine, p.long))
	}
	if r.Truncated = len(hints) > 0; r.Truncated {
		r.Context = &hint{strings.Join(hints, " ")}
	}
	return &outcome{data: r, Outcome: kit.Outcome{Truncated: r.Truncated}}, nil
}

// part collects the wanted lines with their numbers, and counts all.
type part struct {
	first, limit int
	text         strings.Builder
	total, shown int
	long         int // first line shown in part
}

// add counts a line, and shows it if it is wanted and fits.
func (p *part) add(l lines.Line) {
	p.total = l.Number
	if p.total < p.first || p.shown >= p.limit || p.text.Len() >= maxShown {
		return
	}
	line, size := l.Content(), l.Size-l.Ending
	if bom := []byte("\xef\xbb\xbf"); p.total == 1 && bytes.HasPrefix(line, bom) {
		line, size = line[len(bom):], size-len(bom)
	}
	if len(line) == size {
		line = bytes.TrimSuffix(line, []byte("\r"))
		size = len(line)
	}
	if p.shown++; p.shown > 1 {
		p.text.WriteByte('\n')
	}
	shown := truncate.Head(line, maxLine)
	fmt.Fprintf(&p.text, "%d: %s", p.total, shown)
	if rest := size - len(shown); rest > 0 {
		fmt.Fprintf(&p.text, " [... %d more bytes in this line]", rest)
		p.long = cmp.Or(p.long, p.total)
	}
}
