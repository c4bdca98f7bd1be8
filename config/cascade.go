package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// withoutConsequences leaves out what is only reported because of another
// mistake that is reported as well: that an item is missing where one was
// misspelt or misplaced, or where the block could not be read to its end; that
// the lines after an open quote belong to a text too; and what the parser makes
// of bytes that are no UTF-8. The first syntax diagnostics are those of the
// parser.
func (r *reader) withoutConsequences(syntax int) hcl.Diagnostics {
	broken := make(map[int]bool)
	for _, diag := range r.diags[:syntax] {
		broken[topBlock(r.file, diag)] = true
	}
	// The lexer reports the first byte that is no UTF-8 before the parser tries.
	garbled := slices.IndexFunc(r.diags[:syntax],
		func(d *hcl.Diagnostic) bool { return r.badToken(d) == hclsyntax.TokenBadUTF8 })
	strays := r.strays()
	var kept hcl.Diagnostics
	for i, diag := range r.diags {
		switch absent := noteOf(diag).absent; {
		case i < syntax && garbled >= 0 && i != garbled:
		case i < syntax && i > 0 && r.afterOpenQuote(r.diags[i-1], diag):
		case absent != "" && (broken[topBlock(r.file, diag)] || strays.have(absent, diag)):
		default:
			kept = append(kept, diag)
		}
	}
	return kept
}

// strays are the unknown items of a file: where they stand, by what they may
// have been meant for, and how far each block of the file goes.
type strays struct {
	meant   map[string][]int
	extents map[int]hcl.Range
}

func (r *reader) strays() strays {
	s := strays{meant: make(map[string][]int), extents: make(map[int]hcl.Range)}
	for _, diag := range r.diags {
		for _, item := range noteOf(diag).meant {
			s.meant[item] = append(s.meant[item], diag.Subject.Start.Byte)
		}
	}
	body, ok := r.file.Body.(*hclsyntax.Body)
	if !ok || len(s.meant) == 0 {
		return s
	}
	for _, places := range s.meant {
		slices.Sort(places)
	}
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		if b, ok := n.(*hclsyntax.Block); ok {
			s.extents[b.TypeRange.Start.Byte] = b.Range()
		}
		return nil
	})
	return s
}

// have reports whether one of them may be the item whose absence a diagnostic
// is about: one in the same block, for a parameter one anywhere.
func (s strays) have(absent string, diag *hcl.Diagnostic) bool {
	places := s.meant[absent]
	if len(places) == 0 || strings.HasPrefix(absent, paramItem("")) {
		return len(places) > 0
	}
	block, ok := s.extents[diag.Subject.Start.Byte]
	i, _ := slices.BinarySearch(places, block.Start.Byte)
	return ok && i < len(places) && places[i] < block.End.Byte
}

// unlexed gives the places of the tokens that stand for an open quote and for
// bytes that are no UTF-8.
func unlexed(tokens hclsyntax.Tokens) map[int]hclsyntax.TokenType {
	found := make(map[int]hclsyntax.TokenType)
	for i := range tokens {
		if t := tokens[i].Type; t == hclsyntax.TokenBadUTF8 || t == hclsyntax.TokenQuotedNewline {
			found[tokens[i].Range.Start.Byte] = t
		}
	}
	return found
}

// badToken is the token among those that a diagnostic is about, 0 for none.
func (r *reader) badToken(diag *hcl.Diagnostic) hclsyntax.TokenType {
	if diag.Subject == nil {
		return 0
	}
	return r.lexical[diag.Subject.Start.Byte]
}

// afterOpenQuote reports a complaint about the lines after a text that was not
// closed, or about its end, which is the end of the file.
func (r *reader) afterOpenQuote(before, diag *hcl.Diagnostic) bool {
	const open = hclsyntax.TokenQuotedNewline
	return r.badToken(before) == open &&
		(r.badToken(diag) == open || diag.Subject != nil && diag.Subject.Start.Byte >= len(r.file.Bytes))
}

// topBlock says which block of the file a diagnostic is about: the last one
// that begins before it, and -1 for none.
func topBlock(file *hcl.File, diag *hcl.Diagnostic) int {
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || diag.Subject == nil {
		return -1
	}
	last, at := -1, -1
	for i, b := range body.Blocks {
		if start := b.TypeRange.Start.Byte; start <= diag.Subject.Start.Byte && start > at {
			last, at = i, start
		}
	}
	return last
}
