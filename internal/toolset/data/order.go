package data

import (
	"strings"

	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"
)

// ordered rewrites a valid query so that >, >= and <= are expressed by < and ==, as RFC 9535
// defines them: the library has false >= true, and nothing not <= nothing. Its functions match and
// search, which fail for nothing as an argument, become those of [functions]. ok is false for
// unpaired brackets, which the library does not always see.
func ordered(query string) (rewritten string, ok bool) {
	r := rewriter{in: query}
	rewritten = r.outside()
	return rewritten, r.end() && !r.unpaired
}

// careful ends the names of functions that accept nothing as an argument.
const careful = "_or_nothing"

// functions returns RFC 9535's functions and ordered's replacements of two.
func functions() (*registry.Registry, error) {
	all := registry.New()
	for _, name := range []string{"match", "search"} {
		standard := all.Get(name)
		err := all.Register(name+careful, spec.FuncLogical, standard.Validate,
			func(args []spec.PathValue) spec.PathValue {
				for _, arg := range args {
					if spec.ValueFrom(arg) == nil {
						return spec.LogicalFalse
					}
				}
				return standard.Evaluate(args)
			})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

type rewriter struct {
	in       string
	at       int
	unpaired bool
}

// pair takes the text from a bracket to its counterpart.
func (r *rewriter) pair(inner func() string) string {
	open := r.next(1)
	text := inner()
	closing := r.next(1)
	if open == "[" && closing != "]" || open == "(" && closing != ")" {
		r.unpaired = true
	}
	return open + text + closing
}

func (r *rewriter) end() bool { return r.at >= len(r.in) }

func (r *rewriter) next(n int) string {
	n = min(n, len(r.in)-r.at)
	r.at += n
	return r.in[r.at-n : r.at]
}

func (r *rewriter) literal() string {
	quote := r.in[r.at]
	for i := r.at + 1; i < len(r.in); i++ {
		switch r.in[i] {
		case '\\':
			i++
		case quote:
			return r.next(i + 1 - r.at)
		}
	}
	return r.next(len(r.in))
}

// outside rewrites the filters in a text up to its closing bracket.
func (r *rewriter) outside() string {
	var out strings.Builder
	for !r.end() {
		switch c := r.in[r.at]; c {
		case ']', ')':
			return out.String()
		case '\'', '"':
			out.WriteString(r.literal())
		case '[', '(':
			out.WriteString(r.pair(r.outside))
		case '?':
			out.WriteString(r.next(1) + r.logical())
		default:
			out.WriteString(r.next(1))
		}
	}
	return out.String()
}

func (r *rewriter) logical() string {
	var out strings.Builder
	var c comparison
	for !r.end() {
		next := r.in[r.at]
		two := r.in[r.at:min(r.at+2, len(r.in))]
		switch {
		case next == ']' || next == ')' || next == ',':
			return out.String() + c.String()
		case next == '\'' || next == '"':
			c.add(r.literal())
		case next == '[':
			c.add(r.pair(r.outside))
		case next == '(' && c.function() != "":
			if name := c.function(); name == "match" || name == "search" {
				c.add(careful)
			}
			c.add(r.pair(r.outside))
		case next == '(':
			c.add(r.pair(r.logical))
		case two == "&&" || two == "||":
			out.WriteString(c.String() + r.next(2))
			c = comparison{}
		case two == "==" || two == "!=" || two == "<=" || two == ">=":
			c.operator = r.next(2)
		case next == '<' || next == '>':
			c.operator = r.next(1)
		default:
			c.add(r.next(1))
		}
	}
	return out.String() + c.String()
}

// comparison is a comparison, or a test if it has no operator.
type comparison struct{ left, operator, right string }

func (c *comparison) add(text string) {
	if c.operator == "" {
		c.left += text
	} else {
		c.right += text
	}
}

// function returns the name before a parenthesis, "" if none.
func (c *comparison) function() string {
	before := c.left
	if c.operator != "" {
		before = c.right
	}
	return before[len(strings.TrimRight(before, "abcdefghijklmnopqrstuvwxyz0123456789_")):]
}

// String writes the comparison.
func (c comparison) String() string {
	a, b := strings.TrimSpace(c.left), strings.TrimSpace(c.right)
	switch c.operator {
	case ">":
		return b + " < " + a
	case "<=":
		return "(" + a + " < " + b + " || " + a + " == " + b + ")"
	case ">=":
		return "(" + b + " < " + a + " || " + a + " == " + b + ")"
	}
	return c.left + c.operator + c.right
}
