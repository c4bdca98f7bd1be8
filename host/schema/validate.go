package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/internal/text/nearest"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

type validator struct {
	found    []Violation
	depth    int
	patterns *regexlimit.Budget
}

// patternTime bounds what the patterns of a schema may take for one value.
const patternTime = 2 * time.Second

func newValidator() validator { return validator{patterns: regexlimit.NewBudget(patternTime)} }

func (v *validator) add(path, format string, args ...any) {
	v.found = append(v.found, Violation{Path: path, Message: fmt.Sprintf(format, args...)})
}

// check adds the violations of value at path.
func (v *validator) check(n *node, value any, path string) {
	if v.depth++; v.depth > 4*maxDepth {
		v.add(path, "is nested too deeply")
		return
	}
	defer func() { v.depth-- }()
	if n.never {
		v.add(path, "must not be given")
		return
	}
	if n.target != nil {
		v.check(n.target, value, path)
	}
	if len(n.Type) > 0 && !slices.ContainsFunc(n.Type, func(t string) bool { return isType(t, value) }) {
		v.add(path, "must be %s, not %s", article(strings.Join(n.Type, " or ")), typeName(value))
		return
	}
	if len(n.Enum) > 0 && !slices.ContainsFunc(n.Enum, func(e json.RawMessage) bool { return equal(e, value) }) {
		v.add(path, "must be one of %s, not %s%s", list(n.Enum), show(value), nearestOf(n.Enum, value))
	}
	if n.Const != nil && !equal(n.Const, value) {
		v.add(path, "must be %s, not %s", n.Const, show(value))
	}
	switch value := value.(type) {
	case map[string]any:
		v.checkObject(n, value, path)
	case []any:
		v.checkArray(n, value, path)
	case string:
		v.checkString(n, value, path)
	case json.Number:
		v.checkNumber(n, value, path)
	}
	v.checkCombined(n, value, path)
}

func isType(name string, value any) bool {
	actual := typeName(value)
	if name == "integer" {
		number, ok := value.(json.Number)
		if !ok {
			return false
		}
		f, ok := parseNumber(string(number))
		return ok && f.IsInt()
	}
	return actual == name
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func article(name string) string {
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

func (v *validator) checkObject(n *node, object map[string]any, path string) {
	for _, name := range n.Required {
		if _, ok := object[name]; !ok {
			v.add(join(path, name), "is required%s", about(n.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		for _, property := range n.property(name) {
			if property == n.AdditionalProperties && property.never {
				v.add(join(path, name), "is not a known parameter%s", n.suggest(name))
			} else {
				v.check(property, object[name], join(path, name))
			}
		}
	}
}

// suggest returns the property that was probably meant, or all.
func (n *node) suggest(name string) string {
	if near := nearest.Name(name, n.order); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(n.order) == 0 {
		return "; there are none"
	}
	return "; known are " + strings.Join(n.order, ", ")
}

func about(n *node) string {
	if n == nil || n.Description == "" {
		return ""
	}
	first, _, _ := strings.Cut(n.Description, ". ")
	return " (" + strings.TrimSuffix(first, ".") + ")"
}

func (v *validator) checkArray(n *node, array []any, path string) {
	if n.MinItems != nil && len(array) < *n.MinItems {
		v.add(path, "must have at least %s, not %d", count(*n.MinItems, "item"), len(array))
	}
	if n.MaxItems != nil && len(array) > *n.MaxItems {
		v.add(path, "must have at most %s, not %d", count(*n.MaxItems, "item"), len(array))
	}
	for i, item := range array {
		if schema := n.item(i); schema != nil {
			v.check(schema, item, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	if n.UniqueItems {
		v.checkUnique(array, path)
	}
}

func (v *validator) checkUnique(array []any, path string) {
	first := make(map[string]int)
	for i, item := range array {
		key := string(mustMarshal(item))
		if j, twice := first[key]; twice {
			v.add(fmt.Sprintf("%s[%d]", path, i), "is the same as item %d; items must differ", j)
			continue
		}
		first[key] = i
	}
}

func (v *validator) checkString(n *node, s, path string) {
	length := utf8.RuneCountInString(s)
	if n.MinLength != nil && length < *n.MinLength {
		if *n.MinLength == 1 {
			v.add(path, "must not be empty")
		} else {
			v.add(path, "must have at least %d characters, not %d", *n.MinLength, length)
		}
	}
	if n.MaxLength != nil && length > *n.MaxLength {
		v.add(path, "must have at most %s, not %d", count(*n.MaxLength, "character"), length)
	}
	if n.pattern == nil {
		return
	}
	switch matched, known := v.patterns.Match(n.pattern, s); {
	case !known:
		v.add(path, "is too long to be compared with the pattern %s in %s; give less", n.Pattern, patternTime)
	case !matched:
		v.add(path, "must match the pattern %s", n.Pattern)
	}
}

func (v *validator) checkNumber(n *node, number json.Number, path string) {
	f, ok := parseNumber(string(number))
	if !ok {
		v.add(path, "is too large a number: %s", number)
		return
	}
	bounds := []struct {
		bound *bound
		holds func(int) bool
		want  string
	}{
		{n.Minimum, func(c int) bool { return c >= 0 }, "at least"},
		{n.Maximum, func(c int) bool { return c <= 0 }, "at most"},
		{n.ExclusiveMinimum, func(c int) bool { return c > 0 }, "more than"},
		{n.ExclusiveMaximum, func(c int) bool { return c < 0 }, "less than"},
	}
	for _, b := range bounds {
		if b.bound != nil && !b.holds(f.Cmp(n.limits[b.bound])) {
			v.add(path, "must be %s %s, not %s", b.want, *b.bound, number)
		}
	}
}

// parseNumber parses a JSON number without losing digits of an integer. Huge exponents, which would cost
// unbounded memory, are refused.
func parseNumber(s string) (*big.Float, bool) {
	if len(s) > 400 {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(s[i+1:]); err != nil || exponent > 1000 || exponent < -1000 {
			return nil, false
		}
	}
	f, _, err := big.ParseFloat(s, 10, 1024, big.ToNearestEven)
	return f, err == nil
}

func (v *validator) checkCombined(n *node, value any, path string) {
	for _, sub := range n.AllOf {
		v.check(sub, value, path)
	}
	if len(n.AnyOf) > 0 && v.matching(n.AnyOf, value) == 0 {
		v.closest(n.AnyOf, value, path)
	}
	if len(n.OneOf) > 0 {
		switch matched := v.matching(n.OneOf, value); {
		case matched == 0:
			v.closest(n.OneOf, value, path)
		case matched > 1:
			v.add(path, "fits %d of the allowed forms, and must fit exactly one", matched)
		}
	}
	if n.Not != nil && v.matching([]*node{n.Not}, value) == 1 {
		v.add(path, "has a form that is not allowed")
	}
}

// matching counts the schemas that value fits.
func (v *validator) matching(schemas []*node, value any) int {
	matched := 0
	for _, s := range schemas {
		trial := validator{depth: v.depth, patterns: v.patterns}
		trial.check(s, value, "")
		if len(trial.found) == 0 {
			matched++
		}
	}
	return matched
}

// closest adds the violations of value in the form that it fits best.
func (v *validator) closest(schemas []*node, value any, path string) {
	if consts := constants(schemas); consts != nil {
		v.add(path, "must be one of %s, not %s%s", list(consts), show(value), nearestOf(consts, value))
		return
	}
	var best []Violation
	for i, s := range schemas {
		trial := validator{depth: v.depth, patterns: v.patterns}
		trial.check(s, value, path)
		if i == 0 || len(trial.found) < len(best) {
			best = trial.found
		}
	}
	v.found = append(v.found, best...)
}

// constants returns the values of schemas that allow one each, as choices with titles are written; nil if any
// allows more.
func constants(schemas []*node) []json.RawMessage {
	values := make([]json.RawMessage, len(schemas))
	for i, s := range schemas {
		if s.Const == nil {
			return nil
		}
		values[i] = s.Const
	}
	return values
}

// checkFull checks with the library that knows every keyword.
func (v *validator) checkFull(full *jsonschema.Resolved, raw json.RawMessage) {
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		v.add("", "%v", err)
		return
	}
	if err := full.Validate(plain); err != nil {
		v.add("", "%v", err)
	}
}

// equal compares a JSON literal with a decoded value; 1 and 1.0 are equal.
func equal(raw json.RawMessage, value any) bool {
	want, err := parse(raw)
	if err != nil {
		return false
	}
	a, aok := want.(json.Number)
	b, bok := value.(json.Number)
	if aok && bok {
		x, xok := parseNumber(string(a))
		y, yok := parseNumber(string(b))
		return xok && yok && x.Cmp(y) == 0
	}
	return string(mustMarshal(want)) == string(mustMarshal(value))
}

func list(values []json.RawMessage) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

// show returns a value as JSON, shortened if long.
func show(value any) string {
	text := string(mustMarshal(value))
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return text
}

func nearestOf(values []json.RawMessage, value any) string {
	s, ok := value.(string)
	if !ok {
		return ""
	}
	var names []string
	for _, raw := range values {
		var name string
		if json.Unmarshal(raw, &name) == nil {
			names = append(names, name)
		}
	}
	if near := nearest.Name(s, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
