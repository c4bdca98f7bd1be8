package agentbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	// read_file returns up to linesShown lines whole; of more it returns the first and last linesKept.
	linesShown = 10_000
	linesKept  = 5_000
	contentMax = 8 << 20 // bytes
)

type readInput struct {
	Path  string         `json:"path"`
	Start schema.Integer `json:"start_line"`
	End   schema.Integer `json:"end_line"`
}

type readData struct {
	Content      string `json:"content"`
	Truncated    bool   `json:"truncated"`
	TotalLines   int    `json:"total_lines"`
	StartLine    int    `json:"start_line"`
	EndLine      int    `json:"end_line"`
	Omitted      int    `json:"lines_omitted,omitempty"`
	BytesOmitted int64  `json:"bytes_omitted,omitempty"`
}

func read(ctx context.Context, deps Deps, call *tool.Call, in readInput) (*outcome, error) {
	text, err := in.open(deps, call)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	index, err := lines.IndexOf(ctx, text)
	if errors.Is(err, lines.ErrNotText) {
		return nil, as(typeBinary, tool.Errorf(tool.BinaryFile, "%s is not UTF-8 text", in.Path).
			Suggest("It cannot be shown; look at it with a program, such as file or xxd, by the tool run.").
			With("path", in.Path))
	}
	if err != nil {
		return nil, err
	}
	data, err := in.within(index.Total)
	if err != nil {
		return nil, err
	}
	if err := data.fill(text, index); err != nil {
		return nil, err
	}
	return &outcome{data: data, Outcome: kit.Outcome{Truncated: data.Truncated}}, nil
}

type readSeekCloser struct {
	io.ReadSeeker
	io.Closer
}

// open opens the file, or the session's artifact of that name.
func (in readInput) open(deps Deps, call *tool.Call) (io.ReadSeekCloser, error) {
	f, err := deps.Workspace.Open(in.Path)
	switch code := tool.CodeOf(err); code {
	case "":
		return f, nil
	case tool.NotFound:
		if artifact, ok := readArtifact(deps.Workspace, call, in.Path); ok {
			return readSeekCloser{bytes.NewReader(artifact), io.NopCloser(nil)}, nil
		}
	case tool.NotADirectory:
		return nil, tool.Errorf(tool.NotFound, "%s does not exist", in.Path).
			Suggest("A part of the path is a file, and has nothing below it; list_files shows what there is.").
			With("path", in.Path)
	case tool.IsDirectory:
		return nil, tool.Errorf(code, "%s is a directory", in.Path).
			Suggest("Name a file in it; list_files with this root shows them.").With("path", in.Path)
	}
	return nil, err
}

// within returns the requested lines of a file with total lines.
func (in readInput) within(total int) (*readData, error) {
	start, end := int(in.Start), int(in.End)
	data := &readData{TotalLines: total, StartLine: max(1, start), EndLine: total}
	if end > 0 {
		data.EndLine = min(end, total)
	}
	if end > 0 && end < data.StartLine {
		return nil, in.badRange(total, "the range ends before it starts: lines %d to %d of %s", data.StartLine, end,
			in.Path)
	}
	if data.StartLine > max(1, total) {
		return nil, in.badRange(total, "%s has %d lines, so there is no line %d", in.Path, total, data.StartLine)
	}
	return data, nil
}

func (in readInput) badRange(total int, format string, args ...any) error {
	return tool.Errorf(tool.InvalidArgument, format, args...).
		Suggest("Give lines between 1 and %d, the first before the last.", max(1, total)).
		With("path", in.Path).With("total_lines", total)
}

// fill reads the lines, without the middle if there are too many.
func (d *readData) fill(text io.ReadSeeker, index *lines.Index) error {
	count := d.EndLine - d.StartLine + 1
	if count <= linesShown {
		return d.add(text, index, d.StartLine, d.EndLine, contentMax)
	}
	d.Truncated, d.Omitted = true, count-2*linesKept
	first := d.StartLine + linesKept
	if err := d.add(text, index, d.StartLine, first-1, contentMax/2); err != nil {
		return err
	}
	d.Content += fmt.Sprintf("[... %d lines left out: %d to %d; read them with start_line and end_line ...]\n",
		d.Omitted,
		first, first+d.Omitted-1)
	return d.add(text, index, first+d.Omitted, d.EndLine, contentMax/2)
}

// add appends the lines first to last and marks what exceeds the limit.
func (d *readData) add(text io.ReadSeeker, index *lines.Index, first, last, limit int) error {
	part, omitted, err := index.Read(text, first, last, limit)
	if err != nil {
		return err
	}
	d.Content += part
	if omitted > 0 {
		d.Truncated = true
		d.BytesOmitted += omitted
		d.Content += fmt.Sprintf("\n[... %d bytes left out of lines %d to %d; read fewer lines, or print a part of "+
			"a long one with cut -c by the tool run ...]\n", omitted, first, last)
	}
	return nil
}
