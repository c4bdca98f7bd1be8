package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Bounds of a file. Parser and evaluator are recursive and join texts in quadratic time, so the tokens are
// checked before parsing.
const (
	maxSize      = 256 << 10
	maxDepth     = 100    // brackets, templates, heredocs
	maxOperators = 10_000 // each may deepen the syntax tree by one
	maxPieces    = 10_000 // of a template; each line, $ and % begins one
)

type guard struct {
	open      []frame
	loops     int // open template for directives
	operators int
	previous  hclsyntax.TokenType
	diag      *hcl.Diagnostic
}

// frame is an open bracket or template; loop is set if it began with "for".
type frame struct {
	loop   bool
	pieces int
}

// checkTokens returns a diagnostic for tokens whose parsing or evaluation could exhaust the machine.
func (g *guard) checkTokens(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	for i := range tokens {
		if g.token(&tokens[i]); g.diag != nil {
			return g.diag
		}
	}
	return nil
}

func (g *guard) token(t *hclsyntax.Token) {
	switch t.Type {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		if g.open = append(g.open, frame{}); len(g.open) > maxDepth {
			g.refuse(t, "Nested too deeply", "Brackets and templates may be nested at most %d deep.", maxDepth)
		}
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		if n := len(g.open); n > 0 {
			g.open = g.open[:n-1]
		}
	case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
		if n := len(g.open); n > 0 {
			if g.open[n-1].pieces++; g.open[n-1].pieces > maxPieces {
				g.refuse(t, "Text too long", "A text may have at most %d lines and signs $ and %%. Keep a longer one in a file.", maxPieces)
			}
		}
	case hclsyntax.TokenIdent:
		g.ident(t)
	case hclsyntax.TokenNumberLit:
		if exponent().Match(t.Bytes) {
			g.refuse(t, "Number too large", "Exponents have at most two digits.")
		}
	}
	if deepens(t.Type) {
		if g.operators++; g.operators > maxOperators {
			g.refuse(t, "Too many operators", "A file may hold at most %d operators, brackets and template sequences.",
				maxOperators)
		}
	}
	if t.Type != hclsyntax.TokenNewline && t.Type != hclsyntax.TokenComment {
		g.previous = t.Type
	}
}

// deepens reports whether tokens of a type can make a tree deep without a closing bracket.
func deepens(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl,
		hclsyntax.TokenQuestion, hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenPlus, hclsyntax.TokenStar,
		hclsyntax.TokenSlash, hclsyntax.TokenPercent, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp,
		hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan,
		hclsyntax.TokenGreaterThanEq, hclsyntax.TokenDot, hclsyntax.TokenDoubleColon:
		return true
	}
	return false
}

// ident detects "for" at the start of a bracket or a template directive.
func (g *guard) ident(t *hclsyntax.Token) {
	control := g.previous == hclsyntax.TokenTemplateControl
	switch {
	case control && string(t.Bytes) == "endfor":
		g.loops = max(0, g.loops-1)
		return
	case string(t.Bytes) != "for":
		return
	case !control && g.previous != hclsyntax.TokenOBrack && g.previous != hclsyntax.TokenOBrace:
		return
	}
	if g.loops > 0 || slices.ContainsFunc(g.open, func(f frame) bool { return f.loop }) {
		g.refuse(t, "Nested for",
			"A for expression may not stand inside another: its cost grows with the product of both lists.")
		return
	}
	if control {
		g.loops++
	} else if n := len(g.open); n > 0 {
		g.open[n-1].loop = true
	}
}

// exponent matches exponents of more than two digits, which could take all memory and time when converted to
// text.
var exponent = regexlimit.Lazy(`[eE][+-]?0*[0-9]{3,}`)

func (g *guard) refuse(t *hclsyntax.Token, summary, format string, args ...any) {
	g.diag = &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: t.Range.Ptr(),
	}
}

func checkSize(filename string, src []byte) *hcl.Diagnostic {
	if len(src) <= maxSize {
		return nil
	}
	start := hcl.InitialPos
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "File too large",
		Detail:  fmt.Sprintf("At most %d bytes of a configuration are read, and this one is longer.", maxSize),
		Subject: &hcl.Range{Filename: filename, Start: start, End: start},
	}
}
