package clemini

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/excerpt"
	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
)

const (
	defaultLines = 2000
	// maxShown bounds the contents of one answer, and maxLine a line in it, in
	// bytes.
	maxShown = 1 << 20
	maxLine  = 64 << 10
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

func runRead(_ context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	in := readInput{Offset: 1, Limit: defaultLines}
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	data, _, err := deps.Workspace.ReadFile(in.Path, 0)
	if tool.CodeOf(err) == tool.TooLarge {
		return nil, tool.Errorf(tool.TooLarge, "%w", err).
			Suggest("Use grep to find the part that matters, or sed -n with bash to show it.").With("path", in.Path)
	}
	if err != nil {
		return nil, pathError(err, in.Path, findFile)
	}
	text, err := textedit.Decode(data)
	if err != nil {
		return nil, tool.Errorf(tool.BinaryFile, "Binary file: %s", in.Path).
			Suggest("It cannot be shown as text; with bash, file and xxd tell what it is.").With("path", in.Path)
	}
	return in.part(linesOf(text.String()))
}

// linesOf splits a text into lines without their ends.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// part gives the lines that were asked for.
func (in readInput) part(lines []string) (*outcome, error) {
	first := int(in.Offset) - 1
	if first >= len(lines) && first > 0 {
		return nil, tool.Errorf(tool.InvalidArgument, "offset %d is behind the end of %s, which has %d lines", in.Offset, in.Path, len(lines)).
			Suggest("Give an offset from 1 to %d.", max(1, len(lines))).With("total_lines", len(lines))
	}
	var b strings.Builder
	next := first
	for ; next < len(lines) && next < first+int(in.Limit) && b.Len() < maxShown; next++ {
		if next > first {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d: %s", next+1, shortened(lines[next], maxLine))
	}
	r := readResult{Contents: b.String(), Total: len(lines), Truncated: next < len(lines)}
	if r.Truncated {
		r.Context = &hint{fmt.Sprintf("%d more lines follow; read on with offset %d.", len(lines)-next, next+1)}
	}
	return &outcome{data: r, truncated: r.Truncated}, nil
}

// shortened cuts a line that is too long, and says so.
func shortened(line string, limit int) string {
	if len(line) <= limit {
		return line
	}
	head := excerpt.Head(line, limit)
	return fmt.Sprintf("%s [... %d more bytes in this line]", head, len(line)-len(head))
}
