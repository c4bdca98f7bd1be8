package config

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format returns src in the canonical layout: indentation, spaces, alignment. Comments and texts stay. Source
// with mistakes of syntax is returned unchanged with diagnostics.
func Format(src []byte) ([]byte, Diagnostics) {
	r := &reader{filename: FileName, cfg: new(Config)}
	if !r.parse(src) || r.diags.HasErrors() {
		return src, finish(r.diags, r.file, nil)
	}
	out := hclwrite.Format(src)
	if !sameTokens(src, out) {
		return src, Diagnostics{about(FileName, hcl.DiagError, "Cannot be formatted",
			"The layout would change what the file says.", "Leave the file as it is.")}
	}
	return out, nil
}

func sameTokens(a, b []byte) bool {
	left, _ := hclsyntax.LexConfig(a, FileName, hcl.InitialPos)
	right, _ := hclsyntax.LexConfig(b, FileName, hcl.InitialPos)
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		if left[i].Type != right[i].Type {
			return false
		}
		if left[i].Type != hclsyntax.TokenNewline && left[i].Type != hclsyntax.TokenComment &&
			!bytes.Equal(left[i].Bytes, right[i].Bytes) {
			return false
		}
	}
	return true
}
