package ocode

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

const (
	// readShown bounds the text that file_read shows, in bytes.
	readShown = 1 << 20
	// sniffBytes is how much of a file decides whether it is binary.
	sniffBytes = 8 << 10
)

type fileReadParams struct {
	Path  string          `json:"path"`
	Start schema.Integer  `json:"start_line"`
	End   *schema.Integer `json:"end_line"`
}

func fileRead(deps Deps) tool.Tool {
	return newTool(deps, spec[fileReadParams]{
		Definition: tool.Definition{
			Name:  "file_read",
			Title: "Read a file",
			Description: "Shows the lines of a text file with their numbers, all of them or those from start_line to end_line. An end_line behind the last line means the last. " +
				"At most 1 MB is shown at once; a warning then says where to read on. " +
				"Returns: lines of the form \"10 | text\", and in metadata total_lines, start_line, end_line and size_bytes.",
			Category:    "file_operations",
			Risk:        tool.ReadOnly,
			Permissions: []tool.Permission{tool.FileRead},
			Idempotent:  true,
			Examples: []tool.Example{
				{Description: "A whole file", Params: json.RawMessage(`{"path":"main.py"}`)},
				{Description: "Some lines", Params: json.RawMessage(`{"path":"main.py","start_line":10,"end_line":20}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "path", Type: "string", Required: true, Description: "The file, relative to the workspace."},
			{Name: "start_line", Type: "integer", Default: 1, Description: "The first line to show, counted from 1."},
			{Name: "end_line", Type: "integer", Description: "The last line to show; the end of the file when left out."},
		},
		facts: `"total_lines":{"type":"integer","description":"Lines of the whole file."},` +
			`"start_line":{"type":"integer","description":"The first line shown."},` +
			`"end_line":{"type":"integer","description":"The last line shown."},` +
			`"size_bytes":{"type":"integer","description":"Size of the whole file."},` +
			`"path":{"type":"string","description":"The file."}`,
		aliases: aliases{
			{"limit", "end_line", endOfLimit},
			{"offset", "start_line", firstLine},
			{"file_path", "path", nil},
		},
		run: runFileRead,
	})
}

// firstLine makes a line number of the old offset, which began at 0.
func firstLine(old json.RawMessage, _ map[string]json.RawMessage) (json.RawMessage, bool) {
	var n schema.Integer
	if json.Unmarshal(old, &n) != nil {
		return nil, false
	}
	return tool.MustMarshal(max(n, 1)), true
}

// endOfLimit makes the last line of the old limit, a number of lines of which
// none or a negative one means all.
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
		return invalid("Give an end_line that is not less than start_line.", "Invalid line range: %d to %d", p.Start, *p.End)
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
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if textedit.IsBinary(head[:n]) {
		return nil, tool.Errorf(tool.BinaryFile, "Not a text file: %s (%d bytes)", p.Path, info.Size()).
			Suggest("Look at it with a program that knows its format, through the bash tool.").With("path", p.Path)
	}
	l := numbered{first: int(p.Start)}
	if p.End != nil {
		l.last = int(*p.End)
	}
	if err := l.read(ctx, contract.Decoded(head[:n], f)); err != nil {
		return nil, err
	}
	return p.report(&l, info.Size())
}

func (p fileReadParams) report(l *numbered, size int64) (*outcome, error) {
	if l.shown == 0 && (l.total > 0 || l.first > 1) {
		return nil, tool.Errorf(tool.InvalidArgument, "Invalid start_line: %d, the file has %s", l.first, linesOf(l.total)).
			Suggest("Give a start_line from 1 to %d.", max(l.total, 1)).With("total_lines", l.total)
	}
	end := l.first + l.shown - 1
	o := &outcome{output: strings.TrimSuffix(l.text.String(), "\n"), metadata: facts{
		"path": p.Path, "total_lines": l.total, "start_line": l.first, "end_line": end, "size_bytes": size,
	}}
	if l.cut {
		o.truncated = true
		o.warn(fmt.Sprintf("lines %d to %d of %d are shown; read on with start_line=%d", l.first, end, l.total, end+1))
	}
	if l.long > 0 {
		o.truncated = true
		o.warn(fmt.Sprintf("line %d is longer than %d bytes and is shown in part; use bash with cut -c to see the rest", l.long, readShown))
	}
	return o, nil
}

// numbered picks lines out of a stream, gives them their numbers, and counts
// all.
type numbered struct {
	first, last  int // last 0 is the end
	text         strings.Builder
	total, shown int
	// cut is true when lines were left out because there is too much text,
	// long names a line that is shown in part.
	cut  bool
	long int
}

func (l *numbered) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk, err := in.ReadSlice('\n')
		if len(line) <= readShown {
			line = append(line, chunk...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > 0 {
			l.add(line)
			line = line[:0]
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
func (l *numbered) add(line []byte) {
	l.total++
	if l.cut || l.total < l.first || l.last > 0 && l.total > l.last {
		return
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
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
	fmt.Fprintf(&l.text, "%d | %s\n", l.total, contract.Shown(line))
}

func linesOf(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}
