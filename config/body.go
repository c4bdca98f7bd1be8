package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/internal/text/nearest"
)

// content returns what of a body is in a form of the grammar, and reports the rest. where names the body in
// messages.
func (r *reader) content(body hcl.Body, form, where string) *hcl.BodyContent {
	s := grammar()[form]
	native := body.(*hclsyntax.Body)
	if content, ok := fitting(native, s); ok {
		return content
	}
	content, _, diags := body.PartialContent(s)
	r.diags = append(r.diags, diags...)
	attrs, blocks := names(s)
	for _, a := range native.Attributes {
		if !slices.Contains(attrs, a.Name) {
			r.fail(a.NameRange, "Unknown attribute", r.unknownAttribute(a.Name, form), "There is no attribute %q in %s.",
				a.Name, where)
		}
	}
	for _, b := range native.Blocks {
		if !slices.Contains(blocks, b.Type) {
			r.fail(b.TypeRange, "Unknown block", r.unknownBlock(b, form), "There is no block %q in %s.", b.Type, where)
		}
	}
	return content
}

// fitting returns the content of a body if it has only what a schema lists.
func fitting(body *hclsyntax.Body, s *hcl.BodySchema) (*hcl.BodyContent, bool) {
	content := &hcl.BodyContent{Attributes: make(hcl.Attributes, len(body.Attributes)),
		MissingItemRange: body.MissingItemRange()}
	for name, a := range body.Attributes {
		if !slices.ContainsFunc(s.Attributes, func(known hcl.AttributeSchema) bool { return known.Name == name }) {
			return nil, false
		}
		content.Attributes[name] = a.AsHCLAttribute()
	}
	for _, b := range body.Blocks {
		if !slices.ContainsFunc(s.Blocks, func(known hcl.BlockHeaderSchema) bool {
			return known.Type == b.Type && len(known.LabelNames) == len(b.Labels)
		}) {
			return nil, false
		}
		content.Blocks = append(content.Blocks, b.AsHCLBlock())
	}
	return content, true
}

func names(s *hcl.BodySchema) (attrs, blocks []string) {
	for _, a := range s.Attributes {
		attrs = append(attrs, a.Name)
	}
	for _, b := range s.Blocks {
		blocks = append(blocks, b.Type)
	}
	return attrs, blocks
}

// unknownAttribute returns a hint about an attribute that a form does not have.
func (r *reader) unknownAttribute(name, form string) (hint string) {
	attrs, blocks := names(grammar()[form])
	if slices.Contains(blocks, name) {
		return "It is a block: write " + name + " { ... }, without the equals sign."
	}
	return r.misplaced(name, form, attrs)
}

func (r *reader) unknownBlock(b *hclsyntax.Block, form string) (hint string) {
	attrs, blocks := names(grammar()[form])
	switch {
	case slices.Contains(attrs, b.Type):
		return "It is an attribute: write " + b.Type + " = ..., with an equals sign."
	case form != fileForm && holds(fileForm, b.Type):
		return "It stands by itself: a } that closes the block before it is missing."
	}
	return r.misplaced(b.Type, form, blocks)
}

// misplaced returns where a name belongs, or which known one was meant.
func (r *reader) misplaced(name, form string, known []string) (hint string) {
	top, _, _ := strings.Cut(r.scope.key, ".")
	if hint = home(form, top, name); hint != "" {
		return hint
	}
	if near := nearest.Typo(name, known); near != "" {
		return didYouMean(name, known)
	}
	if hint = elsewhere(name); hint != "" {
		return hint
	}
	return whatFits(names(grammar()[form]))
}

// whatFits lists what a body may hold.
func whatFits(attrs, blocks []string) string {
	var parts []string
	if len(attrs) > 0 {
		parts = append(parts, "attributes: "+strings.Join(attrs, ", "))
	}
	if len(blocks) > 0 {
		parts = append(parts, "blocks: "+strings.Join(blocks, ", "))
	}
	if parts == nil {
		return "It is empty."
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
