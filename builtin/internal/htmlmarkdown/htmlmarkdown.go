// Package htmlmarkdown holds the tool html_to_markdown, which writes the text
// of an HTML file as Markdown beside it.
package htmlmarkdown

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/netguard/markdown"
	"github.com/toolhost/toolhost/internal/run/netguard/webtext"
	"github.com/toolhost/toolhost/internal/source/toolspec"
)

const maxInput = 16 << 20 // bytes

// New returns the tool for a workspace.
func New(ws *workspace.Workspace) tool.Tool { return &converter{ws: ws} }

type converter struct{ ws *workspace.Workspace }

type result struct {
	InputPath  string `json:"inputPath"`
	OutputPath string `json:"outputPath"`
	Success    bool   `json:"success"`
}

//go:embed html_to_markdown.json
var definitionFile []byte

var describe = sync.OnceValue(func() *tool.Definition {
	return toolspec.Parse("html_to_markdown", definitionFile)
})

// Definition describes html_to_markdown.
func (c *converter) Definition() *tool.Definition { return describe() }

type conversion struct {
	input, output string
	rel           string // the output, relative to the workspace
	markdown      []byte
}

// Plan shows what the Markdown file would become.
func (c *converter) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	done, err := c.convert(ctx, call)
	if err != nil {
		return nil, err
	}
	if _, err := c.ws.Check(done.output, workspace.Write); err != nil {
		return nil, err
	}
	oldName := done.rel
	old, _, err := c.ws.ReadFile(done.output, 0)
	if errors.Is(err, &tool.Error{Code: tool.NotFound}) {
		oldName = textedit.DevNull
	} else if err != nil {
		return nil, err
	}
	return &tool.Plan{
		FilesAffected: []string{done.rel},
		Preview:       textedit.Diff(oldName, done.rel, old, done.markdown, 3),
	}, nil
}

// Call converts the file.
func (c *converter) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	done, err := c.convert(ctx, call)
	if err != nil {
		return nil, err
	}
	if _, err := c.ws.WithContext(ctx).WriteFile(done.output, done.markdown, workspace.WriteOptions{}); err != nil {
		return nil, err
	}
	return tool.JSON(result{done.input, done.output, true}).Affecting(done.rel), nil
}

func (c *converter) convert(ctx context.Context, call *tool.Call) (*conversion, error) {
	var params struct {
		Path string `json:"path"`
	}
	if err := call.Decode(&params); err != nil {
		return nil, err
	}
	output, err := outputPath(params.Path)
	if err != nil {
		return nil, err
	}
	data, _, err := c.ws.ReadFile(params.Path, maxInput)
	if err != nil {
		return nil, err
	}
	rel, err := c.ws.Rel(output)
	if err != nil {
		return nil, err
	}
	if isBinary(data) {
		return nil, tool.Errorf(tool.BinaryFile, "%s is a binary file, not HTML", params.Path).
			Suggest("Name an HTML file.").With("path", params.Path)
	}
	text, _ := webtext.Decode(data, "")
	converted, err := markdown.FromHTML(ctx, text)
	if err != nil {
		return nil, err
	}
	return &conversion{params.Path, output, rel, []byte(converted)}, nil
}

func outputPath(path string) (string, error) {
	if path == "" {
		return "", tool.Errorf(tool.InvalidArgument, "path cannot be empty").Suggest("Name an HTML file.")
	}
	base := filepath.Base(path)
	ext := filepath.Ext(base)
	if strings.EqualFold(ext, ".md") {
		return "", tool.Errorf(tool.InvalidArgument,
			"%s is a Markdown file by its name already, and would be overwritten", path).
			Suggest("Name an HTML file; rename it if it really holds HTML.")
	}
	if ext == base {
		ext = "" // a hidden file without an extension
	}
	return strings.TrimSuffix(path, ext) + ".md", nil
}

// isBinary reports whether the first 8 KiB hold a NUL byte. Text does so only in UTF-16, which begins with a byte
// order mark.
func isBinary(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return false
	}
	return bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0
}
