package data

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/toolhost/toolhost/host/tool"
)

// Found is a node that a query selects.
type Found struct {
	// Path is the node's normalized path, "$['a'][0]".
	Path  string
	Value any
}

// MaxFound limits the nodes that a query selects, also in between.
const MaxFound = 1_000_000

// Query selects by an RFC 9535 JSONPath, in the RFC's order; members of an object come as written.
// A query that does not parse, or selects too much, is an invalid_argument.
func Query(v any, query string) ([]Found, error) {
	path, err := parse(query)
	if err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "Invalid JSONPath query: %s", faultOf(err)).
			Suggest("Write it as RFC 9535 says: $ is the whole, $.a[0] and $['a b'] name members, $..a looks at "+
				"every depth, $[?@.n > 1] filters.").
			With("query", query)
	}
	s := selection{root: plainValue(v)}
	nodes := []node{{value: v, plain: s.root, path: "$"}}
	for _, segment := range path.Query().Segments() {
		s.next = nil
		for _, n := range nodes {
			s.segment(segment, n)
		}
		if s.full {
			return nil, tool.Errorf(tool.TooLarge, "The query visits more than %d nodes", MaxFound).
				Suggest("Use fewer .. segments, or name members instead of *.").With("query", query)
		}
		nodes = s.next
	}
	found := make([]Found, len(nodes))
	for i, n := range nodes {
		found[i] = Found{n.path, n.value}
	}
	return found, nil
}

// parse parses a query in the form that is evaluated.
func parse(query string) (*jsonpath.Path, error) {
	if _, err := jsonpath.Parse(query); err != nil {
		return nil, err
	}
	rewritten, ok := ordered(query)
	if !ok {
		return nil, errors.New("the brackets do not pair")
	}
	all, err := functions()
	if err != nil {
		return nil, err
	}
	return jsonpath.NewParser(jsonpath.WithRegistry(all)).Parse(rewritten)
}

// faultOf returns a parse error's message without the library's name.
func faultOf(err error) string {
	const prefix = "jsonpath: "
	text := err.Error()
	if len(text) > len(prefix) && text[:len(prefix)] == prefix {
		text = text[len(prefix):]
	}
	return text
}

// node is a value with its path and its form for the library.
type node struct {
	value, plain any
	path         string
}

type selection struct {
	root any
	next []node
	full bool
}

func (s *selection) add(n node) {
	if len(s.next) == MaxFound {
		s.full = true
		return
	}
	s.next = append(s.next, n)
}

// segment selects from n and, for a descendant segment, from all below it.
func (s *selection) segment(segment *spec.Segment, n node) {
	if s.full {
		return
	}
	for _, selector := range segment.Selectors() {
		s.selector(selector, n)
	}
	if segment.IsDescendant() {
		for child := range n.children {
			s.segment(segment, child)
		}
	}
}

func (s *selection) selector(selector spec.Selector, n node) {
	switch selector := selector.(type) {
	case spec.Name:
		if o, ok := n.value.(*Object); ok {
			if v, ok := o.Get(string(selector)); ok {
				s.add(n.member(string(selector), v))
			}
		}
	case spec.Index:
		if list, ok := n.value.([]any); ok {
			i := int(selector)
			if i < 0 {
				i += len(list)
			}
			if i >= 0 && i < len(list) {
				s.add(n.item(i, list[i]))
			}
		}
	case spec.SliceSelector:
		s.slice(selector, n)
	case spec.WildcardSelector:
		for child := range n.children {
			s.add(child)
		}
	case *spec.FilterSelector:
		for child := range n.children {
			if selector.Eval(child.plain, s.root) {
				s.add(child)
			}
		}
	}
}

func (s *selection) slice(selector spec.SliceSelector, n node) {
	list, ok := n.value.([]any)
	if !ok {
		return
	}
	lower, upper := selector.Bounds(len(list))
	switch step := selector.Step(); {
	case step > 0:
		for i := lower; i < upper; i += step {
			s.add(n.item(i, list[i]))
			if step > upper-i {
				return
			}
		}
	case step < 0:
		for i := upper; i > lower; i += step {
			s.add(n.item(i, list[i]))
			if i < lower-step {
				return
			}
		}
	}
}

func (n node) children(yield func(node) bool) {
	switch v := n.value.(type) {
	case []any:
		for i, item := range v {
			if !yield(n.item(i, item)) {
				return
			}
		}
	case *Object:
		for _, m := range v.Members {
			if !yield(n.member(m.Key, m.Value)) {
				return
			}
		}
	}
}

func (n node) item(i int, v any) node {
	list, _ := n.plain.([]any)
	return node{value: v, plain: list[i], path: n.path + "[" + strconv.Itoa(i) + "]"}
}

func (n node) member(key string, v any) node {
	object, _ := n.plain.(map[string]any)
	return node{value: v, plain: object[key], path: n.path + "[" + quoted(key) + "]"}
}

// plainValue converts a value for the library. Numbers become floats if in range, as RFC 9535
// allows for comparison.
func plainValue(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plainValue(item)
		}
		return list
	case *Object:
		object := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			object[m.Key] = plainValue(m.Value)
		}
		return object
	case Number:
		if f, err := strconv.ParseFloat(string(v), 64); err == nil {
			return f
		}
		return json.Number(v)
	}
	return v
}
