package cliagent

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

const (
	// hexBytes is how much of a binary file is shown.
	hexBytes = 1 << 10
	// sniffBytes is how much of a file decides whether it is binary.
	sniffBytes = 8 << 10
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

func readFile(deps Deps) tool.Tool {
	return newTool(deps, &tool.Definition{
		Name:  "read_file",
		Title: "Read a file",
		Description: "Shows a text file, or the lines from start_line to end_line of it; an end_line behind the last line means the last. " +
			"At most 10 MB are shown at once, and a warning says what is left out. Of a binary file the first 1 KB is shown as hex. " +
			"Returns: the text under a line that names file and lines, and in metadata total_lines, lines_returned and file_size_bytes.",
		Category:   "file",
		Parameters: json.RawMessage(readFileParameters),
		Returns: returns(`
      "total_lines": {"type": "integer", "description": "Lines of the whole file; 0 for a binary one."},
      "lines_returned": {"type": "integer", "description": "Lines that are shown."},
      "file_size_bytes": {"type": "integer", "description": "Size of the whole file."}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Idempotent:  true,
		Examples: []tool.Example{
			{Description: "A whole file", Params: json.RawMessage(`{"path":"hello.py"}`)},
			{Description: "Its first ten lines", Params: json.RawMessage(`{"path":"hello.py","start_line":1,"end_line":10}`)},
		},
	}, runReadFile)
}

const readFileParameters = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the working directory.", "minLength": 1},
    "start_line": {"type": "integer", "description": "The first line to show, counted from 1.", "minimum": 1},
    "end_line": {"type": "integer", "description": "The last line to show, not less than start_line."}
  },
  "required": ["path"],
  "additionalProperties": false
}`

func runReadFile(ctx context.Context, deps Deps, _ *tool.Call, p readFileParams) (*outcome, error) {
	f, size, err := p.open(deps)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	head = head[:n]
	if textedit.IsBinary(head) {
		return binaryFile(head, size), nil
	}
	lines := &lineReader{first: p.first(), last: p.last(), limit: maxFile}
	if err := lines.read(ctx, contract.Decoded(head, f)); err != nil {
		return nil, err
	}
	return p.report(lines, size)
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
		output:    "Warning: File appears to be binary, displaying first 1KB as hex\n" + hex.Dump(shown),
		metadata:  readFileMetadata{FileSizeBytes: size},
		truncated: int64(len(shown)) < size,
	}
}

func (p readFileParams) first() int {
	if p.Start == nil {
		return 1
	}
	return int(*p.Start)
}

// last is 0 for the end of the file.
func (p readFileParams) last() int {
	if p.End == nil {
		return 0
	}
	return int(*p.End)
}

func (p readFileParams) report(l *lineReader, size int64) (*outcome, error) {
	first, ended := p.first(), p.End != nil
	if first > max(l.total, 1) || ended && p.last() < first {
		return nil, p.badRange(l.total)
	}
	o := &outcome{metadata: readFileMetadata{l.total, l.returned, size}, truncated: l.cut}
	if l.returned == 0 {
		first = 0
	}
	last := max(first+l.returned-1, 0)
	if l.cut {
		o.output = fmt.Sprintf("Warning: File is larger than 10MB (%d bytes), showing lines %d-%d; read on with start_line and end_line\n", size, first, last)
		if l.partial {
			o.output = fmt.Sprintf("Warning: File is larger than 10MB (%d bytes), showing the first 10MB of line %d\n", size, first)
		}
	}
	o.output += fmt.Sprintf("Contents of %s (lines %d-%d):\n%s", p.Path, first, last, contract.Shown(l.text))
	return o, nil
}

func (p readFileParams) badRange(total int) *tool.Error {
	last := "end"
	if p.End != nil {
		last = fmt.Sprint(p.last())
	}
	return tool.Errorf(codeInvalidLineRange, "Line range invalid - file has %d lines, requested %d-%s", total, p.first(), last).
		Suggest("Give a start_line from 1 to %d and an end_line that is not less.", max(total, 1)).
		With("total_lines", total)
}
