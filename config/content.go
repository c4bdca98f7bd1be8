package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// content takes what a schema lists out of a body and reports all else. where
// names the body for messages.
func (r *reader) content(body hcl.Body, s *hcl.BodySchema, where string) *hcl.BodyContent {
	native, ok := body.(*hclsyntax.Body)
	if !ok {
		content, diags := body.Content(s)
		r.diags = append(r.diags, diags...)
		return content
	}
	if content, ok := fitting(native, s); ok {
		return content
	}
	content, _, diags := body.PartialContent(s)
	r.diags = append(r.diags, diags...)
	attrs, blocks := names(s)
	for _, a := range native.Attributes {
		if !slices.Contains(attrs, a.Name) {
			r.unknownAttribute(a, attrs, blocks, where)
		}
	}
	for _, b := range native.Blocks {
		if !slices.Contains(blocks, b.Type) {
			r.unknownBlock(b, attrs, blocks, where)
		}
	}
	return content
}

// fitting gives the content of a body that has nothing in it but what a schema
// lists.
func fitting(body *hclsyntax.Body, s *hcl.BodySchema) (*hcl.BodyContent, bool) {
	content := &hcl.BodyContent{Attributes: make(hcl.Attributes, len(body.Attributes)), MissingItemRange: body.MissingItemRange()}
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

// names lists the attributes and block types of a schema.
func names(s *hcl.BodySchema) (attrs, blocks []string) {
	for _, a := range s.Attributes {
		attrs = append(attrs, a.Name)
	}
	for _, b := range s.Blocks {
		blocks = append(blocks, b.Type)
	}
	return attrs, blocks
}

func (r *reader) unknownAttribute(a *hclsyntax.Attribute, attrs, blocks []string, where string) {
	hint := didYouMean(a.Name, attrs)
	switch {
	case slices.Contains(blocks, a.Name):
		hint = "It is a block: write " + a.Name + " { ... }, without the equals sign."
	case hint == "":
		hint = whatFits(attrs, blocks)
	}
	r.fail(a.NameRange, "Unknown attribute", hint, "There is no attribute %q in %s.", a.Name, where)
}

func (r *reader) unknownBlock(b *hclsyntax.Block, attrs, blocks []string, where string) {
	hint := didYouMean(b.Type, blocks)
	switch {
	case slices.Contains(attrs, b.Type):
		hint = "It is an attribute: write " + b.Type + " = ..., with an equals sign."
	case where != "agent.hcl" && isTopLevel(b.Type):
		hint = "It stands by itself: a } that closes the block before it is missing."
	case hint == "":
		hint = whatFits(attrs, blocks)
	}
	r.fail(b.TypeRange, "Unknown block", hint, "There is no block %q in %s.", b.Type, where)
}

func isTopLevel(block string) bool {
	return slices.ContainsFunc(topLevel().Blocks, func(b hcl.BlockHeaderSchema) bool { return b.Type == block })
}

// whatFits says what a body may hold.
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
