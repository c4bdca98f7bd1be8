package ocode

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
)

const (
	// sideBySideWidth is diff's default, in characters.
	sideBySideWidth = 130
	diffShown       = 1 << 20 // bytes
	// diffTime is diff's format of file times.
	diffTime = "2006-01-02 15:04:05.000000000 -0700"
)

type diffParams struct {
	Source1 string         `json:"source1"`
	Source2 string         `json:"source2"`
	Unified bool           `json:"unified"`
	Context schema.Integer `json:"context_lines"`
}

type compared struct {
	name   string
	header string
	kind   string // "file" or "string"
	data   []byte
	// missing is set for a text that looks like a missing file's name.
	missing bool
}

func runDiff(_ context.Context, deps Deps, _ *tool.Call, p diffParams) (*outcome, error) {
	if p.Context < 0 {
		return nil, invalid("Give 0 or more.", "Invalid context_lines: %d", p.Context)
	}
	o := &outcome{}
	a, err := source(deps, "source1", p.Source1)
	if err != nil {
		return nil, err
	}
	b, err := source(deps, "source2", p.Source2)
	if err != nil {
		return nil, err
	}
	if err := checkMissing(o, a, b); err != nil {
		return nil, err
	}
	p.compare(o, a, b)
	return o, nil
}

// checkMissing handles texts that look like missing files' names: an error if the other source is a file,
// else a warning.
func checkMissing(o *outcome, a, b *compared) error {
	for _, pair := range [][2]*compared{{a, b}, {b, a}} {
		one, other := pair[0], pair[1]
		switch {
		case one.missing && (other.kind == "file" || other.missing):
			return tool.Errorf(tool.NotFound, "File not found: %s", one.data).
				Suggest("Check the spelling, or list the directory to see what is there.").With("path",
				string(one.data))
		case one.missing:
			o.warn(fmt.Sprintf("there is no file %s, so it is compared as a text", one.data))
		}
	}
	return nil
}

func source(deps Deps, name, given string) (*compared, error) {
	text := &compared{name: name, header: name, kind: "string", data: []byte(given)}
	if given == "" || !mayBeFile(given) {
		return text, nil
	}
	info, err := deps.Workspace.Stat(given)
	switch {
	case err == nil && info.IsDir():
		return nil, pathError(tool.Errorf(tool.IsDirectory, "a directory").Suggest("Name a file in it."), given)
	case err == nil:
		return fileSource(deps, given, info)
	case tool.CodeOf(err) != tool.NotFound && namesPath(given):
		return nil, pathError(err, given)
	case namesPath(given):
		text.missing = true
	}
	return text, nil
}

func namesPath(text string) bool {
	return !strings.ContainsAny(text, " \t") &&
		(strings.Contains(text, "/") || path.Ext(text) != "" && len(path.Ext(text)) < 8)
}

func fileSource(deps Deps, given string, info fs.FileInfo) (*compared, error) {
	if err := deps.require(tool.FileRead); err != nil {
		return nil, err
	}
	data, _, err := deps.Workspace.ReadFile(given, 0)
	if err != nil {
		return nil, pathError(err, given)
	}
	return &compared{name: given, header: given + "\t" + info.ModTime().Format(diffTime), kind: "file", data: data}, nil
}

func (p diffParams) compare(o *outcome, a, b *compared) {
	o.set("identical", bytes.Equal(a.data, b.data))
	o.set("source1_type", a.kind)
	o.set("source2_type", b.kind)
	o.set("added", 0)
	o.set("removed", 0)
	switch {
	case bytes.Equal(a.data, b.data):
		o.output = fmt.Sprintf("Files %s and %s are identical", a.name, b.name)
		return
	case textedit.IsBinary(a.data) || textedit.IsBinary(b.data):
		o.output = fmt.Sprintf("Binary files %s and %s differ", a.name, b.name)
		return
	}
	unified := textedit.Unified(a.header, b.header, a.data, b.data, int(p.Context))
	added, removed := countChanges(unified)
	o.set("added", added)
	o.set("removed", removed)
	if !p.Unified {
		unified = textedit.SideBySide(a.data, b.data, sideBySideWidth)
	}
	o.output = lines.Shown([]byte(unified))
	if total := len(o.output); total > diffShown {
		o.output = o.output[:strings.LastIndexByte(o.output[:diffShown], '\n')+1]
		o.Truncated = true
		o.warn(fmt.Sprintf("the first %d of %d bytes are shown; compare smaller parts, or run diff with the bash tool",
			len(o.output), total))
	}
}

func countChanges(unified string) (added, removed int) {
	n := 0
	for line := range strings.Lines(unified) {
		if n++; n <= 2 {
			continue // the headers
		}
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}
