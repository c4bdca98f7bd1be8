package config

import (
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// maxPlainDepth is how deep the blocks of a plain file may lie in each other.
const maxPlainDepth = 8

// plainParser reads files that are so simple that parsing them can exhaust
// nothing: every line is blank, a comment, the head of a block, its end, or an
// attribute with a number, true, false or a text without escapes and templates.
// Most files that only declare plugins and servers are, and for them the parser
// of all of HCL takes longer than the rest of a start.
type plainParser struct {
	filename string
	start    hcl.Pos            // of the line that is read
	text     string             // the line without its end
	at       int                // how much of it is read
	open     []*hclsyntax.Block // the innermost last; the first is the file
}

// parsePlain gives the syntax tree of a plain file, the one that
// hclsyntax.ParseConfig makes of it. A file that is not plain or has a mistake
// in its syntax is left to that.
func parsePlain(src []byte, filename string) (*hcl.File, bool) {
	file := newPlainBlock()
	p := plainParser{filename: filename, start: hcl.InitialPos, open: []*hclsyntax.Block{&file.Block}}
	for line := range strings.Lines(string(src)) {
		ended := false
		if p.text, ended = strings.CutSuffix(line, "\n"); ended {
			p.text = strings.TrimSuffix(p.text, "\r")
		}
		p.at = 0
		p.blanks()
		if p.start.Byte == 0 {
			file.Body.SrcRange = p.span(p.at)
		}
		if !p.line(ended) {
			return nil, false
		}
		if !ended {
			break
		}
		p.start.Line++
		p.start.Byte += len(line)
		p.text = ""
	}
	if len(p.open) > 1 {
		return nil, false
	}
	p.at = len(p.text)
	end := p.span(p.at)
	if len(src) == 0 {
		file.Body.SrcRange = end
	}
	file.Body.SrcRange.End, file.Body.EndRange = end.End, end
	return &hcl.File{Body: file.Body, Bytes: src, Nav: plainNavigation{src, filename}}, true
}

// line reads a line, and reports whether it is plain.
func (p *plainParser) line(ended bool) bool {
	if p.ends() {
		return true
	}
	if p.text[p.at] == '#' || strings.HasPrefix(p.text[p.at:], "//") {
		return ended && utf8.ValidString(p.text) && !strings.Contains(p.text, "\r")
	}
	if p.take('}') {
		return p.shut()
	}
	name, ok := p.name()
	if !ok {
		return false
	}
	at := p.span(p.at - len(name))
	p.blanks()
	if p.take('=') {
		return p.attribute(name, at)
	}
	return p.head(name, at)
}

// head reads the rest of NAME "LABEL" ... {.
func (p *plainParser) head(name string, at hcl.Range) bool {
	b := newPlainBlock()
	b.Type, b.TypeRange = name, at
	for !p.take('{') {
		from := p.at
		label, ok := p.quoted()
		if !ok {
			return false
		}
		b.Labels, b.LabelRanges = append(b.Labels, label), append(b.LabelRanges, p.span(from))
		p.blanks()
	}
	b.OpenBraceRange = p.span(p.at - 1)
	outer := p.open[len(p.open)-1].Body
	outer.Blocks = append(outer.Blocks, &b.Block)
	p.open = append(p.open, &b.Block)
	return p.ends() && len(p.open) <= maxPlainDepth+1
}

// shut is behind the closing brace of a block.
func (p *plainParser) shut() bool {
	inner := len(p.open) - 1
	if inner == 0 {
		return false
	}
	b := p.open[inner]
	p.open = p.open[:inner]
	b.CloseBraceRange = p.span(p.at - 1)
	b.Body.SrcRange = hcl.RangeBetween(b.OpenBraceRange, b.CloseBraceRange)
	b.Body.EndRange = p.span(p.at)
	return p.ends()
}

// attribute reads the value of NAME = VALUE.
func (p *plainParser) attribute(name string, at hcl.Range) bool {
	a := new(plainAttribute)
	a.Name, a.NameRange, a.EqualsRange = name, at, p.span(p.at-1)
	p.blanks()
	from := p.at
	if text, ok := p.quoted(); ok {
		a.quoted.Parts, a.quoted.SrcRange = a.parts[:], p.span(from)
		a.parts[0], a.Expr = &a.value, &a.quoted
		a.value.Val, a.value.SrcRange = cty.StringVal(text), p.inside(from)
	} else if a.value.Val, ok = p.literal(); ok {
		a.Expr, a.value.SrcRange = &a.value, p.span(from)
	} else {
		return false
	}
	a.SrcRange = hcl.RangeBetween(at, a.Expr.Range())
	attrs := p.open[len(p.open)-1].Body.Attributes
	if attrs[name] != nil {
		return false
	}
	attrs[name] = &a.Attribute
	return p.ends()
}

// literal reads a number, true or false.
func (p *plainParser) literal() (cty.Value, bool) {
	from := p.at
	for p.at < len(p.text) && p.text[p.at] != ' ' && p.text[p.at] != '\t' {
		p.at++
	}
	switch word := p.text[from:p.at]; {
	case word == "true":
		return cty.True, true
	case word == "false":
		return cty.False, true
	case len(word) > 0 && len(word) < 19 && strings.Trim(word, "0123456789") == "":
		v, err := cty.ParseNumberVal(word)
		return v, err == nil
	}
	return cty.NilVal, false
}

// name reads a name, if there is one.
func (p *plainParser) name() (string, bool) {
	from := p.at
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (p.at == from || c < '0' || c > '9') {
			break
		}
	}
	return p.text[from:p.at], p.at > from
}

// quoted reads a text in quotes, if there is a plain one.
func (p *plainParser) quoted() (string, bool) {
	rest := p.text[p.at:]
	if len(rest) == 0 || rest[0] != '"' {
		return "", false
	}
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			p.at += i + 1
			return rest[1:i], true
		case c == '\\' || c == '$' || c == '%' || c < ' ' || c > '~':
			return "", false
		}
	}
	return "", false
}

func (p *plainParser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

func (p *plainParser) take(c byte) bool {
	taken := p.at < len(p.text) && p.text[p.at] == c
	if taken {
		p.at++
	}
	return taken
}

// ends reports whether nothing more is in the line.
func (p *plainParser) ends() bool {
	p.blanks()
	return p.at == len(p.text)
}

func (p *plainParser) pos(at int) hcl.Pos {
	return hcl.Pos{Line: p.start.Line, Column: at + 1, Byte: p.start.Byte + at}
}

// span is the range from there to where the parser is.
func (p *plainParser) span(from int) hcl.Range {
	return hcl.Range{Filename: p.filename, Start: p.pos(from), End: p.pos(p.at)}
}

// inside is the range of the text in the quotes from there to where the parser
// is. That of an empty one is where hclsyntax puts it.
func (p *plainParser) inside(from int) hcl.Range {
	r := hcl.Range{Filename: p.filename, Start: p.pos(from + 1), End: p.pos(p.at - 1)}
	if r.Empty() {
		r.Start, r.End = p.pos(p.at), p.pos(p.at)
	}
	return r
}

// plainBlock and plainAttribute are the parts of one node, allocated at once.
type plainBlock struct {
	hclsyntax.Block
	body hclsyntax.Body
}

type plainAttribute struct {
	hclsyntax.Attribute
	quoted hclsyntax.TemplateExpr
	parts  [1]hclsyntax.Expression
	value  hclsyntax.LiteralValueExpr
}

func newPlainBlock() *plainBlock {
	b := &plainBlock{body: hclsyntax.Body{Attributes: hclsyntax.Attributes{}, Blocks: hclsyntax.Blocks{}}}
	b.Body = &b.body
	return b
}

// plainNavigation tells in which block a place is, for messages.
type plainNavigation struct {
	src      []byte
	filename string
}

// ContextString implements what hcl looks for in a hcl.File.
func (n plainNavigation) ContextString(offset int) string {
	file, _ := hclsyntax.ParseConfig(n.src, n.filename, hcl.InitialPos)
	return file.Nav.(interface{ ContextString(int) string }).ContextString(offset)
}
