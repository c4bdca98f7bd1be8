package agentbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
)

const (
	// linesShown is how many lines read_file gives whole; of more it gives
	// the first and the last linesKept.
	linesShown = 10_000
	linesKept  = 5_000
	// contentMax bounds the content of one answer, in bytes.
	contentMax = 8 << 20
	// binarySniff is where a NUL byte makes a file binary.
	binarySniff = 8 << 10
)

func readFile(deps *Deps) tool.Tool {
	return &benchTool{deps: deps, limit: readTimeout, work: read, definition: &tool.Definition{
		Name:     "read_file",
		Title:    "Read file",
		Category: "file",
		Description: "Read a UTF-8 text file, whole or a range of its lines. " +
			"Of more than 10,000 lines the first and the last 5,000 are shown. " +
			"Paths of logs and diffs that other calls named (logs/..., diffs/...) can be read as well. " +
			"Returns: content, truncated, total_lines of the file, and start_line and end_line of what was asked for.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"Path of the file, relative to the workspace."},` +
			`"start_line":{"type":"integer","minimum":1,"description":"First line to read, counted from 1. Left out, it is the first of the file."},` +
			`"end_line":{"type":"integer","minimum":1,"description":"Last line to read, itself included. Left out, it is the last of the file."}` +
			`},"required":["path"],"additionalProperties":false}`),
		Returns: returns(`{"type":"object","properties":{"content":{"type":"string"},"truncated":{"type":"boolean"},"total_lines":{"type":"integer"},` +
			`"start_line":{"type":"integer"},"end_line":{"type":"integer"},"lines_omitted":{"type":"integer"}},` +
			`"required":["content","truncated","total_lines","start_line","end_line"]}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Timeout:     readTimeout + grace,
		Idempotent:  true,
		Examples: []tool.Example{
			example("Read a whole file.", `{"path":"src/main.py"}`),
			example("Read ten lines of it.", `{"path":"src/main.py","start_line":11,"end_line":20}`),
		},
	}}
}

type readInput struct {
	Path  string `json:"path"`
	Start int    `json:"start_line"`
	End   int    `json:"end_line"`
}

type readData struct {
	Content    string `json:"content"`
	Truncated  bool   `json:"truncated"`
	TotalLines int    `json:"total_lines"`
	StartLine  int    `json:"start_line"`
	EndLine    int    `json:"end_line"`
	Omitted    int    `json:"lines_omitted,omitempty"`
}

func read(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	var in readInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	content, _, err := deps.Workspace.ReadFile(in.Path, 0)
	if tool.CodeOf(err) == tool.NotFound {
		if artifact, ok := readArtifact(deps.Workspace, call, in.Path); ok {
			content, err = artifact, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if bytes.IndexByte(content[:min(len(content), binarySniff)], 0) >= 0 || !utf8.Valid(content) {
		return nil, as(typeBinary, tool.Errorf(tool.BinaryFile, "%s is not UTF-8 text", in.Path).
			Suggest("It cannot be shown; look at it with a program, such as file or xxd, by the tool run.").With("path", in.Path))
	}
	data, err := in.lines(content)
	if err != nil {
		return nil, err
	}
	return &outcome{data: data, truncated: data.Truncated}, nil
}

// lines takes the asked lines out of a file.
func (in readInput) lines(content []byte) (*readData, error) {
	total := countLines(content)
	data := &readData{TotalLines: total, StartLine: max(1, in.Start), EndLine: total}
	if in.End > 0 {
		data.EndLine = min(in.End, total)
	}
	if in.End > 0 && in.End < data.StartLine {
		return nil, in.badRange(total, "the range ends before it starts: lines %d to %d of %s", data.StartLine, in.End, in.Path)
	}
	if data.StartLine > max(1, total) {
		return nil, in.badRange(total, "%s has %d lines, so there is no line %d", in.Path, total, data.StartLine)
	}
	part := skipLines(content, data.StartLine-1)
	if rest := skipLines(part, data.EndLine-data.StartLine+1); len(rest) > 0 {
		part = part[:len(part)-len(rest)]
	}
	data.shorten(part)
	if len(data.Content) > contentMax {
		return nil, tool.Errorf(tool.TooLarge, "lines %d to %d of %s have %d bytes, more than the limit of %d", data.StartLine, data.EndLine, in.Path, len(part), contentMax).
			Suggest("Read fewer lines with start_line and end_line, or find the place with search.").
			With("path", in.Path).With("total_lines", total)
	}
	return data, nil
}

// shorten leaves the middle out of a part with too many lines.
func (d *readData) shorten(part []byte) {
	count := d.EndLine - d.StartLine + 1
	if count <= linesShown {
		d.Content = string(part)
		return
	}
	d.Truncated, d.Omitted = true, count-2*linesKept
	behindHead := skipLines(part, linesKept)
	tail := skipLines(behindHead, d.Omitted)
	first := d.StartLine + linesKept
	d.Content = fmt.Sprintf("%s[... %d lines left out: %d to %d; read them with start_line and end_line ...]\n%s",
		part[:len(part)-len(behindHead)], d.Omitted, first, first+d.Omitted-1, tail)
}

func (in readInput) badRange(total int, format string, args ...any) error {
	return tool.Errorf(tool.InvalidArgument, format, args...).
		Suggest("Give lines between 1 and %d, the first before the last.", max(1, total)).
		With("path", in.Path).With("total_lines", total)
}

// countLines counts lines; a last one without a newline counts.
func countLines(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// skipLines gives what comes after the first n lines.
func skipLines(b []byte, n int) []byte {
	for ; n > 0 && len(b) > 0; n-- {
		at := bytes.IndexByte(b, '\n')
		if at < 0 {
			return nil
		}
		b = b[at+1:]
	}
	return b
}
