package command

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"mime"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// maxPiece bounds a file or output as a content part, in bytes.
const maxPiece = 10 << 20

type maker struct {
	workspace *workspace.Workspace
	values    map[string]any
	printed   []byte // the command's output, or nil
}

// contents makes all parts, in order. structured is the JSON one, if any.
func (m *maker) contents(ctx context.Context, pieces []argv.Content) (made []tool.Content, structured json.RawMessage,
	err error) {
	for i := range pieces {
		c, err := m.content(ctx, &pieces[i])
		if err != nil {
			return nil, nil, err
		}
		if pieces[i].JSON {
			if c.Text, err = notEmpty(c.Text, pieces[i].Empty); err != nil {
				return nil, nil, err
			}
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(c.Text)); err != nil {
				return nil, nil, tool.Errorf(tool.CommandFailed, "the output is not the JSON that it should be: %w", err).
					Suggest("Tell the author of the tool; the text was: %s", truncate.Shorten(c.Text, 200))
			}
			structured = b.Bytes()
		}
		made = append(made, c)
	}
	return made, structured, nil
}

// notEmpty returns text, or empty if text is blank.
func notEmpty(text, empty string) (string, error) {
	switch {
	case strings.TrimSpace(text) != "":
		return text, nil
	case empty == "":
		return "", tool.Errorf(tool.CommandFailed, "nothing was printed, but JSON is expected").
			Suggest(`If that means that nothing was found, ask the author of the tool to write empty = "[]" in its output block.`)
	}
	return empty, nil
}

func (m *maker) content(ctx context.Context, piece *argv.Content) (tool.Content, error) {
	c := tool.Content{Kind: piece.Kind, MIMEType: piece.MIME}
	data, err := m.bytes(ctx, piece)
	if err != nil {
		return c, err
	}
	if piece.URI != nil {
		c.URI = piece.URI.URI(m.values)
	}
	switch piece.Kind {
	case tool.KindImage, tool.KindAudio:
		c.Data = data
	case tool.KindResource:
		fillResource(&c, data)
	default:
		c.Text = string(data)
	}
	return c, nil
}

// fillResource puts text into Text and other data into Data.
func fillResource(c *tool.Content, data []byte) {
	if isText(c.MIMEType, data) {
		c.Text = string(data)
		if c.MIMEType == "" {
			c.MIMEType = "text/plain"
		}
		return
	}
	c.Data = data
	if c.MIMEType == "" {
		c.MIMEType = "application/octet-stream"
	}
}

func isText(mediaType string, data []byte) bool {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	name, _, _ := mime.ParseMediaType(mediaType)
	for _, binary := range []string{"image/", "audio/", "video/", "font/"} {
		if strings.HasPrefix(name, binary) && name != "image/svg+xml" {
			return false
		}
	}
	return name != "application/octet-stream"
}

func (m *maker) bytes(ctx context.Context, piece *argv.Content) ([]byte, error) {
	switch {
	case piece.Text != nil:
		return []byte(piece.Text.Text(m.values)), nil
	case piece.Data != nil:
		return piece.Data, nil
	case piece.File != nil:
		name := piece.File.Text(m.values)
		if name == "" {
			return nil, tool.Errorf(tool.InvalidArgument,
				"the name of the file to give back is empty").Suggest("Give the parameter that names it.")
		}
		data, _, err := m.workspace.WithContext(ctx).ReadFile(name, maxPiece)
		return data, err
	case piece.Base64:
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(m.printed)), ""))
		if err != nil {
			return nil, tool.Errorf(tool.CommandFailed, "the command should have printed base64: %w",
				err).Suggest("Tell the author of the tool.")
		}
		return data, nil
	}
	return m.printed, nil
}

// whole returns a command's whole output, not only the shown part.
func whole(o proc.Output) ([]byte, error) {
	if !o.Truncated() {
		return o.Head, nil
	}
	if o.Path == "" || o.PathBytes < o.Bytes || o.Bytes > maxPiece {
		return nil, tool.Errorf(tool.TooLarge, "the command printed %d bytes, more than can be given back", o.Bytes).
			Suggest("Ask for less in one call.").With("limit", maxPiece)
	}
	return os.ReadFile(o.Path)
}
