package clemini

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolhost/toolhost/host/excerpt"
	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

const (
	defaultLines = 2000
	// maxShown bounds the contents of one answer, and maxLine a line in it, in
	// bytes.
	maxShown = 1 << 20
	maxLine  = 64 << 10
	// sniffed is how much of a file tells whether it is text.
	sniffed = 8 << 10
)

func readFile(deps *Deps) tool.Tool {
	return &contractTool{deps: deps, work: runRead, definition: &tool.Definition{
		Name: "read_file", Title: "Read file", Category: "file",
		Description: "Read a text file, each line behind its number. " +
			"Long files are read in parts: offset says where to begin, limit how many lines to give. " +
			"Returns: {contents, total_lines, truncated?}",
		Parameters: object(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"Path of the file, absolute or relative to the workspace."},` +
			`"offset":{"type":"integer","minimum":1,"description":"Number of the first line to give. (default: 1)","default":1},` +
			`"limit":{"type":"integer","minimum":1,"description":"How many lines to give at most. (default: 2000)","default":2000}` +
			`},"required":["file_path"],"additionalProperties":false}`),
		Returns: returns(`"contents":{"type":"string","description":"The lines, each as NUMBER: TEXT."},"total_lines":{"type":"integer","description":"How many lines the file has."},`+
			`"truncated":{"type":"boolean","description":"True when there are further lines; context.hint says how to get them."}`, `"contents","total_lines"`),
		Risk: tool.ReadOnly, Permissions: []tool.Permission{tool.FileRead}, Idempotent: true,
		Examples: []tool.Example{
			example("A whole file.", `{"file_path":"src/main.rs"}`),
			example("Ten lines from line 50 on.", `{"file_path":"src/lib.rs","offset":50,"limit":10}`),
		},
	}}
}

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

func runRead(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	in := readInput{Offset: 1, Limit: defaultLines}
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	f, err := deps.Workspace.Open(in.Path)
	if err != nil {
		return nil, pathError(err, in.Path, findFile)
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, pathError(err, in.Path, findFile)
	}
	head = head[:n]
	if _, err := textedit.Decode(head); err != nil {
		return nil, tool.Errorf(tool.BinaryFile, "Binary file: %s", in.Path).
			Suggest("It cannot be shown as text; with bash, file and xxd tell what it is.").With("path", in.Path)
	}
	p := part{first: int(in.Offset), limit: int(in.Limit)}
	if err := p.read(ctx, contract.Decoded(head, f)); err != nil {
		return nil, err
	}
	return in.report(&p)
}

// report gives the lines that were asked for.
func (in readInput) report(p *part) (*outcome, error) {
	if p.first > max(1, p.total) {
		return nil, tool.Errorf(tool.InvalidArgument, "offset %d is behind the end of %s, which has %d lines", p.first, in.Path, p.total).
			Suggest("Give an offset from 1 to %d.", max(1, p.total)).With("total_lines", p.total)
	}
	r := readResult{Contents: p.text.String(), Total: p.total}
	hints := []string{}
	if next := p.first + p.shown; next <= p.total {
		hints = append(hints, fmt.Sprintf("%d more lines follow; read on with offset %d.", p.total-next+1, next))
	}
	if p.long > 0 {
		hints = append(hints, fmt.Sprintf("Line %d is longer than %d bytes, and its end is left out; with bash, sed -n %dp and cut -c show it.", p.long, maxLine, p.long))
	}
	if r.Truncated = len(hints) > 0; r.Truncated {
		r.Context = &hint{strings.Join(hints, " ")}
	}
	return &outcome{data: r, truncated: r.Truncated}, nil
}

// part picks lines out of a stream, puts their numbers before them, and counts
// all.
type part struct {
	first, limit int
	text         strings.Builder
	total, shown int
	long         int // the first line that is shown in part

	line []byte // that is being read, as much of it as can be shown
	size int    // of the line
}

func (p *part) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		chunk, err := in.ReadSlice('\n')
		ended := err == nil
		if ended {
			chunk = bytes.TrimSuffix(chunk[:len(chunk)-1], []byte("\r"))
		}
		p.size += len(chunk)
		p.line = append(p.line, chunk[:min(len(chunk), maxLine+1-len(p.line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if ended || p.size > 0 {
			p.add()
		}
		if p.total%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add counts a line, and shows it if it is wanted and there is room.
func (p *part) add() {
	line, size := p.line, p.size
	p.line, p.size = p.line[:0], 0
	p.total++
	if p.total < p.first || p.shown >= p.limit || p.text.Len() >= maxShown {
		return
	}
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
	shown := excerpt.Head(line, maxLine)
	fmt.Fprintf(&p.text, "%d: %s", p.total, shown)
	if rest := size - len(shown); rest > 0 {
		fmt.Fprintf(&p.text, " [... %d more bytes in this line]", rest)
		p.long = cmp.Or(p.long, p.total)
	}
}
