// Package data reads, queries, merges and writes JSON and YAML. It keeps the order of members, and
// numbers of any size and precision.
//
// A value is nil, a bool, a string, a [Number], a []any of values, or an [*Object].
package data

import (
	"strconv"

	"github.com/toolhost/toolhost/host/tool"
)

// Format is JSON or YAML.
type Format string

// The formats.
const (
	JSON Format = "json"
	YAML Format = "yaml"
)

const (
	// MaxDepth limits the nesting of values.
	MaxDepth = 500
	// MaxExpanded limits the values that the aliases of a YAML text expand to.
	MaxExpanded = 200_000
)

// Number is a number as in JSON, or YAML's ".inf", "-.inf" and ".nan".
type Number string

// finite reports whether JSON can hold the number.
func (n Number) finite() bool { return n != ".inf" && n != "-.inf" && n != ".nan" }

// Member is one member of an object.
type Member struct {
	Key string
	// Bare is set for a YAML key that is not a string, such as 1 or true.
	Bare  bool
	Value any
}

// Object is a JSON object or YAML mapping, in written order.
type Object struct {
	Members []Member
	index   map[string]int
}

// Get returns the value of a key.
func (o *Object) Get(key string) (value any, ok bool) {
	i, ok := o.index[key]
	if !ok {
		return nil, false
	}
	return o.Members[i].Value, true
}

// Set replaces the value of a key, or adds it at the end.
func (o *Object) Set(key string, value any) { o.set(Member{Key: key, Value: value}) }

func (o *Object) set(m Member) {
	if i, ok := o.index[m.Key]; ok {
		o.Members[i].Value = m.Value
		return
	}
	if o.index == nil {
		o.index = make(map[string]int)
	}
	o.index[m.Key] = len(o.Members)
	o.Members = append(o.Members, m)
}

// Delete removes a key.
func (o *Object) Delete(key string) {
	at, ok := o.index[key]
	if !ok {
		return
	}
	o.Members = append(o.Members[:at:at], o.Members[at+1:]...)
	delete(o.index, key)
	for i := at; i < len(o.Members); i++ {
		o.index[o.Members[i].Key] = i
	}
}

// Place is a position in a text, counted from 1; columns count characters.
type Place struct{ Line, Column int }

// String returns a text such as "line 3, column 5".
func (p Place) String() string {
	return "line " + strconv.Itoa(p.Line) + ", column " + strconv.Itoa(p.Column)
}

func broken(format Format, at Place, what, suggestion string) *tool.Error {
	name := map[Format]string{JSON: "JSON", YAML: "YAML"}[format]
	return tool.Errorf(tool.InvalidArgument, "Invalid %s at %s: %s", name, at, what).
		Suggest("%s", suggestion).
		With("line", at.Line).With("column", at.Column).With("reason", what)
}

func placeAt(text []byte, offset int) Place {
	p := Place{1, 1}
	for _, r := range string(text[:min(max(offset, 0), len(text))]) {
		if r == '\n' {
			p = Place{p.Line + 1, 1}
		} else {
			p.Column++
		}
	}
	return p
}
