package config

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// partAttrs are the attributes of content: an output of a tool, a message of a prompt, a resource.
const partAttrs = "mime text file data uri"

func (b block) outputs(spec *argv.Spec, p *params) {
	printed, structured := hcl.Range{}, hcl.Range{}
	for _, nested := range b.blocks {
		if nested.Type != "output" {
			continue
		}
		blk := b.open(nested, "output")
		part := blk.part(p, "text", "json", "image", "audio", "resource")
		blk.boolean("base64", &part.Base64)
		switch {
		case part.Printed():
			blk.alone("Two outputs of what is printed", &printed)
		case part.Base64:
			b.fail(blk.where("base64"), "Out of place", "Remove it.",
				"base64 is about what the command prints, and this output is something else.")
		}
		if part.JSON {
			blk.alone("Two structured results", &structured)
			spec.Returns = blk.objectSchema("schema")
			if blk.text("empty", &part.Empty) && !json.Valid([]byte(part.Empty)) {
				b.fail(blk.where("empty"), "Invalid JSON", `Write what nothing stands for, such as empty = "[]".`,
					"%q is not valid JSON.", part.Empty)
			}
		} else if blk.has("empty") {
			b.fail(blk.attrs["empty"].NameRange, "Out of place", `Write type = "json".`,
				"empty is what no output stands for in JSON.")
		} else if blk.has("schema") {
			b.fail(blk.attrs["schema"].NameRange, "Out of place", `Write type = "json".`,
				"schema describes a structured result.")
		}
		spec.Outputs = append(spec.Outputs, part)
	}
}

// alone reports a second block where only one is allowed.
func (b block) alone(summary string, first *hcl.Range) {
	if first.Filename != "" {
		b.fail(b.at, summary, "Keep one of them.", "There is one at %s already.", pos(*first))
		return
	}
	*first = b.at
}

// part reads the attributes of partAttrs, and type.
func (b block) part(p *params, types ...string) argv.Content {
	part := argv.Content{Kind: tool.KindText, Pos: pos(b.at)}
	kind := "text"
	if b.has("type") {
		b.oneOf("type", &kind, types...)
	}
	part.Kind = tool.ContentKind(kind)
	if kind == "json" {
		part.Kind, part.JSON = tool.KindText, true
	}
	b.sources(&part, p)
	b.mediaType(&part)
	if part.URI = b.expression("uri", p); part.URI == nil && part.Kind == tool.KindResource {
		b.fail(b.at, "Resource without a URI", `Add uri = "...".`, "A resource is named by a URI.")
	} else if part.URI != nil && part.Kind != tool.KindResource {
		b.fail(b.attrs["uri"].NameRange, "Out of place", `Write type = "resource".`, "Only a resource has a URI.")
	}
	return part
}

func (b block) sources(part *argv.Content, p *params) {
	part.Text, part.File = b.expression("text", p), b.expression("file", p)
	var data string
	if b.text("data", &data) {
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(data), ""))
		if err != nil {
			b.fail(b.where("data"), "Not base64", "Write the bytes in standard base64.", "data cannot be decoded: %s.",
				err)
		}
		part.Data = append([]byte{}, decoded...)
	}
	first := ""
	for _, name := range []string{"text", "file", "data"} {
		if b.has(name) && first != "" {
			b.fail(b.attrs[name].NameRange, "Two contents", "Keep one of them.", "This has %s already.", first)
		} else if b.has(name) {
			first = name
		}
	}
	switch binary := part.Kind == tool.KindImage || part.Kind == tool.KindAudio; {
	case binary && part.Text != nil:
		b.fail(b.attrs["text"].NameRange, "Text as "+string(part.Kind), "Use file or data.", "Text is not %s.",
			part.Kind)
	case part.Kind == tool.KindText && part.Data != nil:
		b.fail(b.attrs["data"].NameRange, "Bytes as text", "Use text.", "data is for images, sounds and resources.")
	}
}

func (b block) mediaType(part *argv.Content) {
	b.text("mime", &part.MIME)
	if b.has("mime") {
		if parsed, _, err := mime.ParseMediaType(part.MIME); err != nil || !strings.Contains(parsed, "/") {
			b.fail(b.where("mime"), "Invalid media type", `Write a media type such as "image/png".`, "%q is not a media type.",
				part.MIME)
			return
		}
	}
	switch part.Kind {
	case tool.KindImage, tool.KindAudio:
		if want := string(part.Kind) + "/"; !b.has("mime") {
			b.fail(b.at, "Missing attribute", `Add mime = "`+want+`...".`, "What kind of %s it is has to be said.",
				part.Kind)
		} else if !strings.HasPrefix(part.MIME, want) {
			b.fail(b.where("mime"), "Wrong media type", `Write one that begins with "`+want+`".`, "%q is not %s.",
				part.MIME, part.Kind)
		}
	case tool.KindText:
		if b.has("mime") {
			b.fail(b.attrs["mime"].NameRange, "Out of place", "Remove it.", "A text has no media type.")
		}
	}
}

// expression compiles an attribute that may refer to parameters and answers.
func (b block) expression(name string, p *params) *argv.Expr {
	a := b.attrs[name]
	if a == nil {
		return nil
	}
	c := b.compiler(p)
	c.use(a.Expr)
	e, ok := c.expr(a.Expr)
	if !ok {
		return &argv.Expr{}
	}
	return &e
}
