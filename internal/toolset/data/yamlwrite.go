package data

import (
	"bytes"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/toolhost/toolhost/host/tool"
)

// WriteYAML writes values as a stream of documents, in block style with an indent of two spaces.
// Ambiguous strings are quoted.
func WriteYAML(docs ...any) (string, error) {
	var out bytes.Buffer
	dumper, err := yaml.NewDumper(&out, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return "", unwritable(err)
	}
	for _, doc := range docs {
		node := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{yamlNode(doc)}}
		if err := dumper.Dump(node); err != nil {
			return "", unwritable(err)
		}
	}
	if err := dumper.Close(); err != nil {
		return "", unwritable(err)
	}
	return out.String(), nil
}

func unwritable(err error) error {
	return tool.Errorf(tool.Internal, "the data cannot be written as YAML: %w",
		err).Suggest("Ask for output_format json.")
}

func yamlNode(v any) *yaml.Node {
	switch v := v.(type) {
	case nil:
		return bare("null", "!!null")
	case bool:
		if v {
			return bare("true", "!!bool")
		}
		return bare("false", "!!bool")
	case Number:
		if integers().MatchString(string(v)) {
			return bare(string(v), "!!int")
		}
		return bare(string(v), "!!float")
	case string:
		return text(v)
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, yamlNode(item))
		}
		return inFlowIfEmpty(n)
	case *Object:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, m := range v.Members {
			key := text(m.Key)
			if m.Bare {
				key = yamlNode(plain(m.Key))
			}
			n.Content = append(n.Content, key, yamlNode(m.Value))
		}
		return inFlowIfEmpty(n)
	}
	return bare("null", "!!null")
}

func inFlowIfEmpty(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

func bare(value, tag string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func text(s string) *yaml.Node {
	n := bare(s, "!!str")
	switch {
	case strings.Contains(s, "\n") && blockable(s):
		n.Style = yaml.LiteralStyle
	case needsQuotes(s) || !printable(s):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// blockable reports whether a multi-line text reads back the same from a block.
func blockable(s string) bool {
	return printable(strings.ReplaceAll(s, "\n", "")) && !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "\n") &&
		!strings.Contains(s, " \n") && strings.TrimSpace(s) != ""
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
