package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/toolhost/toolhost/host/tool"
)

// Document is one document of a text.
type Document struct {
	Value any
	// Notes say what the value does not show, such as an application's tags.
	Notes []string
}

// ReadYAML reads a stream of YAML 1.2 documents. Aliases are expanded and merge keys applied. The
// error, an invalid_argument, has line and column; duplicate keys, non-scalar keys, and aliases
// that contain themselves or expand too much are errors.
func ReadYAML(text []byte) ([]Document, error) {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if err := checkUTF8(YAML, text); err != nil {
		return nil, err
	}
	plain, unknown, err := readPrelude(text)
	if err != nil {
		return nil, err
	}
	for renames := 0; ; renames++ {
		docs, err := load(plain, unknown)
		if err == nil {
			return docs, nil
		}
		again, ok := renamed(plain, err)
		if !ok || renames == maxRenamed {
			return nil, yamlFault(text, err)
		}
		plain = again
	}
}

// load reads the documents of a text after its prelude.
func load(text []byte, unknown []unknownDirective) ([]Document, error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	src := newSource(text)
	var docs []Document
	for {
		var root yaml.Node
		err := loader.Load(&root)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		if err := src.checkIndents(&root, -1); err != nil {
			return nil, err
		}
		c := composer{}
		for len(unknown) > 0 && unknown[0].line <= root.Line {
			c.notes = append(c.notes,
				fmt.Sprintf("the directive %%%s in line %d is not known", unknown[0].name, unknown[0].line))
			unknown = unknown[1:]
		}
		v, err := c.value(&root, 0)
		if err != nil {
			return nil, err
		}
		docs = append(docs, Document{v, c.notes})
	}
}

func yamlFault(text []byte, err error) error {
	if _, ok := errors.AsType[*tool.Error](err); ok {
		return err
	}
	var fault *yaml.LoadError
	if !errors.As(err, &fault) {
		return broken(YAML, Place{1, 1}, err.Error(), "Correct the text.")
	}
	at := Place{max(fault.Mark.Line, 1), max(fault.Mark.Column, 1)}
	what := fault.Message
	if fault.ContextMsg != "" {
		what = fault.ContextMsg + ": " + what
	}
	if lines := bytes.Split(text, []byte("\n")); at.Line <= len(lines) &&
		bytes.HasPrefix(lines[at.Line-1], []byte("\t")) {
		what += " (a tab cannot indent)"
	}
	return broken(YAML, at, what,
		"Correct the text at this place, or just before it: look at the indent, at tabs, and at quotes and brackets that are not closed.")
}

type composer struct {
	notes []string
	// expanding are the anchors whose aliases are being expanded.
	expanding map[*yaml.Node]bool
	expanded  int
	outermost Place // of the alias being expanded
}

func placeOf(n *yaml.Node) Place { return Place{max(n.Line, 1), max(n.Column, 1)} }

func (c *composer) value(n *yaml.Node, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, tooDeep(YAML, placeOf(n))
	}
	if len(c.expanding) > 0 {
		if c.expanded++; c.expanded > MaxExpanded {
			return nil, broken(YAML, c.outermost, fmt.Sprintf("the aliases stand for more than %d values", MaxExpanded),
				"Write the values out, or use fewer aliases.")
		}
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return c.value(n.Content[0], depth)
	case yaml.AliasNode:
		return c.alias(n, depth)
	case yaml.SequenceNode:
		return c.sequence(n, depth)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.ScalarNode:
		return c.scalar(n)
	}
	return nil, nil // an empty document
}

func (c *composer) alias(n *yaml.Node, depth int) (any, error) {
	if n.Alias == nil || c.expanding[n.Alias] {
		return nil,
			broken(YAML, placeOf(n), fmt.Sprintf("the alias *%s contains itself", n.Value), "Write the value out.")
	}
	if c.expanding == nil {
		c.expanding = make(map[*yaml.Node]bool)
	}
	if len(c.expanding) == 0 {
		c.outermost = placeOf(n)
	}
	c.expanding[n.Alias] = true
	defer delete(c.expanding, n.Alias)
	return c.value(n.Alias, depth+1)
}

func (c *composer) sequence(n *yaml.Node, depth int) (any, error) {
	c.noteTag(n, "!!seq", "!!omap", "!!pairs")
	list := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		v, err := c.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (c *composer) mapping(n *yaml.Node, depth int) (any, error) {
	c.noteTag(n, "!!map", "!!set")
	o := &Object{}
	merged := make(map[string]bool) // keys from a merge key alone
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			if err := c.merge(o, merged, value, depth); err != nil {
				return nil, err
			}
			continue
		}
		m, err := c.key(key)
		if err != nil {
			return nil, err
		}
		if _, twice := o.Get(m.Key); twice && !merged[m.Key] {
			return nil, duplicate(YAML, placeOf(key), m.Key)
		}
		delete(merged, m.Key)
		if m.Value, err = c.value(value, depth+1); err != nil {
			return nil, err
		}
		o.set(m)
	}
	return o, nil
}

// isMerge distinguishes the merge key from an equal string.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.Tag == "!!merge") &&
		key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// merge adds the members of a mapping, or of several, of which the first wins. Written members
// take precedence.
func (c *composer) merge(o *Object, merged map[string]bool, from *yaml.Node, depth int) error {
	v, err := c.value(from, depth+1)
	if err != nil {
		return err
	}
	sources, isList := v.([]any)
	if !isList {
		sources = []any{v}
	}
	for _, source := range sources {
		one, ok := source.(*Object)
		if !ok {
			return broken(YAML, placeOf(from), "a merge key needs a mapping, or a list of mappings",
				"Give << an alias of a mapping, or quote it if it is meant as a key.")
		}
		for _, m := range one.Members {
			if _, taken := o.Get(m.Key); !taken {
				o.set(m)
				merged[m.Key] = true
			}
		}
	}
	return nil
}

// key reads a key. JSON has only strings, so other keys are kept as written.
func (c *composer) key(n *yaml.Node) (Member, error) {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return Member{}, broken(YAML, placeOf(n), "a key is a list or a mapping", "Use a string as the key.")
	}
	v, err := c.scalar(n)
	if err != nil {
		return Member{}, err
	}
	switch v := v.(type) {
	case string:
		return Member{Key: v}, nil
	case Number:
		return Member{Key: string(v), Bare: true}, nil
	case bool:
		return Member{Key: fmt.Sprint(v), Bare: true}, nil
	}
	return Member{Key: "null", Bare: true}, nil
}

func (c *composer) scalar(n *yaml.Node) (any, error) {
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch {
	case quoted && n.Style&yaml.TaggedStyle == 0, n.Tag == "!":
		return n.Value, nil
	case n.Style&yaml.TaggedStyle == 0:
		return plain(n.Value), nil
	}
	switch n.Tag {
	case "!!str", "!!binary", "!!timestamp":
		return n.Value, nil
	case "!!null", "!!bool", "!!int", "!!float":
		return c.tagged(n)
	}
	c.noteTag(n)
	if quoted {
		return n.Value, nil
	}
	return plain(n.Value), nil
}

// tagged reads a scalar with an explicit tag.
func (c *composer) tagged(n *yaml.Node) (any, error) {
	v := plain(strings.TrimSpace(n.Value))
	num, isNumber := v.(Number)
	_, isBool := v.(bool)
	fits := map[string]bool{
		"!!null":  v == nil,
		"!!bool":  isBool,
		"!!int":   isNumber && integers().MatchString(string(num)),
		"!!float": isNumber,
	}
	if !fits[n.Tag] {
		return nil, broken(YAML, placeOf(n), fmt.Sprintf("%q is not a %s", n.Value, n.Tag),
			"Correct the value, or remove the tag.")
	}
	return v, nil
}

// noteTag notes a tag that the value does not show.
func (c *composer) noteTag(n *yaml.Node, known ...string) {
	if n.Style&yaml.TaggedStyle == 0 || n.Tag == "" {
		return
	}
	for _, k := range known {
		if n.Tag == k {
			return
		}
	}
	c.notes = append(c.notes, fmt.Sprintf("the tag %s at %s is not kept", n.Tag, placeOf(n)))
}
