package config

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// block is a block being read. Its methods set their argument to an attribute's value, report mistakes, and
// leave it unchanged if the attribute is missing.
type block struct {
	*reader
	attrs  hcl.Attributes
	blocks hcl.Blocks
	at     hcl.Range // its header
}

// schema returns a schema of attributes, and blocks with their labels ("param name").
func schema(attrs string, blocks ...string) *hcl.BodySchema {
	s := new(hcl.BodySchema)
	for name := range strings.FieldsSeq(attrs) {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: name})
	}
	for _, b := range blocks {
		words := strings.Fields(b)
		s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: words[0], LabelNames: words[1:]})
	}
	return s
}

// open reads the body of a block by its form in the grammar.
func (r *reader) open(b *hcl.Block, form string) block {
	content := r.content(b.Body, form, "the block "+b.Type)
	r.noteAttrs(b, content.Attributes)
	return block{reader: r, attrs: content.Attributes, blocks: content.Blocks, at: b.DefRange}
}

func (b block) has(name string) bool { return b.attrs[name] != nil }

// where returns the place of an attribute's value.
func (b block) where(name string) hcl.Range {
	if a := b.attrs[name]; a != nil {
		return a.Expr.Range()
	}
	return b.at
}

func (b block) require(names ...string) {
	for _, name := range names {
		if !b.has(name) {
			b.fail(b.at, "Missing attribute", "Add "+name+".", "This block needs the attribute %s.", name)
		}
	}
}

// text evaluates an expression that must be text.
func (r *reader) text(e hcl.Expression) (string, bool) {
	switch e.(type) {
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.ScopeTraversalExpr,
		*hclsyntax.FunctionCallExpr, *hclsyntax.ParenthesesExpr, *hclsyntax.ConditionalExpr:
		return r.written(e)
	}
	return r.strictText(e)
}

// written is text, but converts numbers and truth values.
func (r *reader) written(e hcl.Expression) (string, bool) {
	v, ok := r.value(e)
	if !ok {
		return "", false
	}
	text, ok := toText(v)
	if !ok {
		r.fail(e.Range(), "Wrong type", "", "Text is needed here, and this is %s.", typeName(v))
		return "", false
	}
	if v.ContainsMarked() {
		r.derived(text)
	}
	return text, true
}

// strictText refuses numbers as text.
func (r *reader) strictText(e hcl.Expression) (string, bool) {
	v, ok := r.value(e)
	if !ok {
		return "", false
	}
	plain, _ := v.Unmark()
	if plain.Type() != cty.String || plain.IsNull() {
		r.fail(e.Range(), "Wrong type", `Write it in quotes.`, "Text is needed here, and this is %s.", typeName(plain))
		return "", false
	}
	if v.IsMarked() {
		r.derived(plain.AsString())
	}
	return plain.AsString(), true
}

func (b block) text(name string, to *string) bool {
	a := b.attrs[name]
	if a == nil {
		return false
	}
	s, ok := b.reader.text(a.Expr)
	if ok {
		*to = s
	}
	return ok
}

func (b block) boolean(name string, to *bool) bool {
	return b.typed(name, cty.Bool, "true or false", func(v cty.Value) { *to = v.True() })
}

func (b block) number(name string, to *float64) bool {
	return b.typed(name, cty.Number, "a number", func(v cty.Value) { *to, _ = v.AsBigFloat().Float64() })
}

// count sets a non-negative whole number.
func (b block) count(name string, to *int) bool {
	var n float64
	if !b.number(name, &n) {
		return false
	}
	if n < 0 || n != math.Trunc(n) || n > 1<<31 {
		b.fail(b.where(name), "Not a count", "", "%s must be a whole number from 0.", name)
		return false
	}
	*to = int(n)
	return true
}

func (b block) typed(name string, t cty.Type, what string, set func(cty.Value)) bool {
	a := b.attrs[name]
	if a == nil {
		return false
	}
	v, ok := b.value(a.Expr)
	if !ok {
		return false
	}
	v, _ = v.Unmark()
	if v.IsNull() || v.Type() != t {
		b.fail(a.Expr.Range(), "Wrong type", "", "%s must be %s, and is %s.", name, what, typeName(v))
		return false
	}
	set(v)
	return true
}

// bare returns a number or truth value in place of a text, "" for anything else.
func (b block) bare(name string) string {
	if a := b.attrs[name]; a != nil {
		return plainLiteral(a.Expr)
	}
	return ""
}

// plainLiteral returns a number or truth value as written, "" for other expressions.
func plainLiteral(e hcl.Expression) string {
	lit, ok := e.(*hclsyntax.LiteralValueExpr)
	if !ok || lit.Val.IsNull() {
		return ""
	}
	text, _ := toText(lit.Val)
	return text
}

func (b block) integers(name string, to *[]int) {
	a := b.attrs[name]
	if a == nil {
		return
	}
	if one := plainLiteral(a.Expr); one != "" {
		b.fail(a.Expr.Range(), "Wrong type", "Write a list: ["+one+"].", "A list of whole numbers is needed here.")
		return
	}
	list, _ := b.listValue(a.Expr)
	items, _ := hcl.ExprList(a.Expr)
	for _, item := range items {
		if text, ok := literalText(item); ok && strings.Trim(text, "0123456789") == "" {
			b.warn(item.Range(), "Number in quotes", "Write it without quotes.", "A whole number is meant here.")
		}
	}
	for _, s := range list {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.fail(b.where(name), "Not a whole number", "Write a list: [0, 1].", "%s holds %q.", name, s)
			return
		}
		if n < 0 || n > 255 {
			b.fail(b.where(name), "Not an exit code", "Exit codes are 0 to 255.", "%s holds %d.", name, n)
			return
		}
		*to = append(*to, n)
	}
}

// oneOf sets a text that must be one of values.
func (b block) oneOf(name string, to *string, values ...string) bool {
	var s string
	if given := b.bare(name); given != "" {
		b.fail(b.where(name), "Unknown value", mustBe(given, values), "%s cannot be %s.", name, given)
		return false
	}
	if !b.text(name, &s) {
		return false
	}
	for _, v := range values {
		if s == v {
			*to = s
			return true
		}
	}
	b.fail(b.where(name), "Unknown value", mustBe(s, values), "%s cannot be %q.", name, s)
	return false
}

func (b block) duration(name string, to *time.Duration) {
	var s string
	if given := b.bare(name); given != "" {
		b.fail(b.where(name), "Invalid duration", `Write it with its unit: "`+given+`s" are seconds.`,
			"%s cannot be %s.", name, given)
		return
	}
	if !b.text(name, &s) {
		return
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		b.fail(b.where(name), "Invalid duration", `Write a number with a unit: "500ms", "30s", "5m", "1h".`,
			"%s cannot be %q.", name, s)
		return
	}
	*to = d
}

// mostDays bounds an age, to calculate with it.
const mostDays = 36500

func (b block) age(name string, to *time.Duration) {
	var s string
	if b.attrs[name] == nil || !b.text(name, &s) {
		return
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(s, "d")); strings.HasSuffix(s, "d") && err == nil {
		s = strconv.Itoa(n*24) + "h"
		if n > mostDays {
			s = ""
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		b.fail(b.where(name), "Invalid age", `Write a number with a unit: "30d", "12h".`, "%s cannot be that.", name)
		return
	}
	*to = d
}

func (b block) size(name string, to *int64) {
	var s string
	if given := b.bare(name); given != "" {
		b.fail(b.where(name), "Invalid size", `Write it with its unit: "`+given+`B" are bytes.`, "%s cannot be %s.",
			name, given)
		return
	}
	if !b.text(name, &s) {
		return
	}
	n, ok := parseSize(s)
	if !ok {
		b.fail(b.where(name), "Invalid size", `Write a number with a unit: "512B", "64KiB", "10MiB", "1GB".`,
			"%s cannot be %q.", name, s)
		return
	}
	*to = n
}

func parseSize(s string) (int64, bool) {
	units := [...]struct {
		name string
		size int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
	}
	for _, unit := range units {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		bytes := n * float64(unit.size)
		return int64(bytes), err == nil && bytes >= 1 && bytes < 1<<60 && !strings.ContainsAny(digits, "xXpPeE_")
	}
	return 0, false
}

func (b block) pattern(name string, to *string) {
	var s string
	if !b.text(name, &s) {
		return
	}
	if _, err := regexp.Compile(s); err != nil {
		b.fail(b.where(name), "Invalid regular expression", "The syntax is RE2: see https://golang.org/s/re2syntax.",
			"%s: %s.", name, err)
		return
	}
	*to = s
}
