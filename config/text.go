package config

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/text/unicode/norm"
)

// node is an expression in native syntax with the text it was parsed from.
type node struct {
	expr hclsyntax.Expression
	src  source
}

// source is the text of an expression; base is the offset that positions
// count it from.
type source struct {
	data []byte
	base int
}

func (s source) slice(r hcl.Range) []byte {
	start, end := r.Start.Byte-s.base, r.End.Byte-s.base
	if start < 0 || end < start || end > len(s.data) {
		return nil
	}
	return s.data[start:end]
}

func (n node) with(expr hclsyntax.Expression) node { return node{expr, n.src} }

// native gives an expression in native syntax. A string of the JSON syntax is
// parsed as the template that it is; other JSON values have no native form.
func (r *reader) native(e hcl.Expression) (node, bool) {
	if native, ok := e.(hclsyntax.Expression); ok {
		return node{native, source{data: r.file.Bytes}}, true
	}
	s, ok := r.jsonText(e)
	if !ok {
		return node{}, false
	}
	start := e.Range().Start
	start.Byte++
	start.Column++
	expr, diags := hclsyntax.ParseTemplate([]byte(s), r.filename, start)
	if r.diags = append(r.diags, diags...); diags.HasErrors() {
		return node{}, false
	}
	return node{expr, source{[]byte(s), start.Byte}}, true
}

// jsonText gives a JSON string as it is written, before any normalization.
func (r *reader) jsonText(e hcl.Expression) (string, bool) {
	quoted := source{data: r.file.Bytes}.slice(e.Range())
	if len(quoted) == 0 || quoted[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(quoted, &s) == nil
}

// rawLiteral gives the text of a literal part of a template as it stands in
// the source. The parser normalizes literals, so where that may have changed
// something the source is read again, in the ways in which it can be written,
// until one agrees with what the parser made of it.
func (n node) rawLiteral(lit *hclsyntax.LiteralValueExpr) string {
	parsed := lit.Val.AsString()
	src := n.src.slice(lit.SrcRange)
	if isASCII(src) && !bytes.Contains(src, []byte(`\u`)) && !bytes.Contains(src, []byte(`\U`)) {
		return parsed
	}
	for _, text := range []string{unescapeQuoted(string(src)), unescapeHeredoc(string(src))} {
		for _, candidate := range trimmings(text) {
			if norm.NFC.String(candidate) == parsed {
				return candidate
			}
		}
	}
	return parsed
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// trimmings gives a text with what strip markers and indented heredocs take
// away from it.
func trimmings(text string) []string {
	all := []string{
		text,
		strings.TrimLeftFunc(text, unicode.IsSpace),
		strings.TrimRightFunc(text, unicode.IsSpace),
		strings.TrimSpace(text),
	}
	indent := 0
	for line := range strings.SplitSeq(text, "\n") {
		indent = max(indent, len(line)-len(strings.TrimLeft(line, " ")))
	}
	for k := 1; k <= min(indent, maxDepth); k++ {
		pad := strings.Repeat(" ", k)
		rest := strings.ReplaceAll(text, "\n"+pad, "\n")
		all = append(all, rest, strings.TrimPrefix(rest, pad))
	}
	return all
}

// unescapeHeredoc resolves what is escaped in a heredoc and in a JSON string.
func unescapeHeredoc(s string) string {
	return strings.NewReplacer("$${", "${", "%%{", "%{").Replace(s)
}

// unescapeQuoted resolves what is escaped in a quoted template. Escapes that
// the parser refuses stay as they are.
func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "$${") || strings.HasPrefix(s[i:], "%%{"):
			b.WriteString(s[i+1 : i+3])
			i += 3
		case s[i] == '\\':
			text, size := escape(s[i:])
			b.WriteString(text)
			i += size
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// escape resolves the escape at the start of s and gives its length.
func escape(s string) (string, int) {
	if len(s) < 2 {
		return s, len(s)
	}
	digits := 0
	switch s[1] {
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case '"', '\\':
		return s[1:2], 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	if digits > 0 && len(s) >= 2+digits {
		if code, err := strconv.ParseUint(s[2:2+digits], 16, 32); err == nil {
			return string(rune(code)), 2 + digits
		}
	}
	return s[:1], 1
}
