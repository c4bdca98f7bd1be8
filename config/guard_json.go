package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// checkJSON refuses JSON that is nested too deeply, and strings in it that as
// templates would be too costly.
func checkJSON(filename string, src []byte) *hcl.Diagnostic {
	g := &guard{}
	at := position{line: 1}
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '\n':
			at = position{line: at.line + 1, start: i + 1}
		case '[', '{':
			if depth++; depth > maxDepth {
				return tooDeepJSON(at.at(filename, i))
			}
		case ']', '}':
			depth--
		case '"':
			end := stringEnd(src, i)
			if diag := g.jsonString(src[i:end], at.at(filename, i)); diag != nil {
				return diag
			}
			i = end - 1
		}
	}
	return nil
}

// position is a line and the offset at which it starts.
type position struct{ line, start int }

func (p position) at(filename string, offset int) hcl.Range {
	start := hcl.Pos{Line: p.line, Column: offset - p.start + 1, Byte: offset}
	end := hcl.Pos{Line: start.Line, Column: start.Column + 1, Byte: offset + 1}
	return hcl.Range{Filename: filename, Start: start, End: end}
}

// stringEnd gives the offset after the string that starts at i. A string does
// not go beyond its line.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return i
		}
	}
	return len(src)
}

func (g *guard) jsonString(quoted []byte, at hcl.Range) *hcl.Diagnostic {
	if !bytes.ContainsAny(quoted, `$%\`) {
		return nil
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil || !hasTemplate(s) {
		return nil
	}
	tokens, _ := hclsyntax.LexTemplate([]byte(s), at.Filename, at.Start)
	g.open = g.open[:0]
	diag := g.checkTokens(tokens)
	if diag == nil && g.looped(tokens) {
		diag = &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "For expression",
			Detail: "For expressions work in native syntax only. Write the values out.",
		}
	}
	if diag != nil {
		diag.Subject = &at
	}
	return diag
}

// looped reports whether tokens hold a for expression or directive.
func (g *guard) looped(tokens hclsyntax.Tokens) bool {
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Type != hclsyntax.TokenIdent || string(tokens[i].Bytes) != "for" {
			continue
		}
		switch tokens[i-1].Type {
		case hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenTemplateControl, hclsyntax.TokenNewline,
			hclsyntax.TokenComment:
			return true
		}
	}
	return false
}

func tooDeepJSON(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Nested too deeply",
		Detail:  fmt.Sprintf("Objects and arrays may be nested at most %d deep.", maxDepth),
		Subject: &at,
	}
}
