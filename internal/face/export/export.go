// Package export writes tool definitions in the function calling forms of model APIs.
package export

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// Format is the form of an API.
type Format string

// Each form is what the tools field of that API takes.
const (
	MCP       Format = "mcp"       // https://modelcontextprotocol.io, result of tools/list
	OpenAI    Format = "openai"    // chat completions: tools
	Anthropic Format = "anthropic" // messages: tools
	Gemini    Format = "gemini"    // generateContent: one entry of tools
	Ollama    Format = "ollama"    // /api/chat: tools
)

// Formats lists all forms.
func Formats() []Format { return []Format{MCP, OpenAI, Anthropic, Gemini, Ollama} }

// Definitions returns the definitions in a form, as indented JSON with a final newline. The schemas are
// portable: each type is one name, no schema is a bare true, and no reference is at the top. own has
// the forms of tools that the API defines itself, by name. The error is a *tool.Error.
func Definitions(format Format, defs []*tool.Definition, own map[string]json.RawMessage) ([]byte, error) {
	write, ok := writers[format]
	if !ok {
		names := make([]string, 0, len(writers))
		for _, f := range Formats() {
			names = append(names, string(f))
		}
		return nil, tool.Errorf(tool.InvalidArgument, "unknown schema format %q", format).
			Suggest("Use one of %s.", strings.Join(names, ", "))
	}
	if format == OpenAI && len(own) > 0 { // tools of the Responses API
		write = flatFunction
	}
	entries := make([]any, 0, len(defs))
	for _, def := range defs {
		if form := own[def.Name]; form != nil {
			entries = append(entries, form)
			continue
		}
		parameters, err := portable(def, format)
		if err != nil {
			return nil, tool.Errorf(tool.Internal, "the schema of %s cannot be read: %w", def.Name, err).
				Suggest("Tell the tool's author.")
		}
		entries = append(entries, write(def, parameters))
	}
	return indent(wrap(format, entries))
}

// writers return one entry in each form.
var writers = map[Format]func(*tool.Definition, object) any{
	MCP: func(def *tool.Definition, parameters object) any {
		entry := object{{"name", def.Name}, {"description", def.Description}, {"inputSchema", parameters}}
		if returns := outputSchema(def.Returns); returns != nil {
			entry = append(entry, member{"outputSchema", returns})
		}
		return append(entry, member{"annotations", object{
			{"readOnlyHint", def.Risk == tool.ReadOnly},
			{"destructiveHint", def.Risk == tool.Dangerous},
			{"idempotentHint", def.Idempotent || def.Risk == tool.ReadOnly},
			{"openWorldHint",
				slices.Contains(def.Permissions, tool.Network) || slices.Contains(def.Permissions, tool.ShellExec)},
		}})
	},
	OpenAI: function,
	Ollama: function,
	Anthropic: func(def *tool.Definition, parameters object) any {
		return object{{"name", def.Name}, {"description", def.Description}, {"input_schema", parameters}}
	},
	Gemini: func(def *tool.Definition, parameters object) any {
		entry := object{{"name", def.Name}, {"description", def.Description}}
		if properties, ok := parameters.get("properties").(object); ok && len(properties) > 0 {
			entry = append(entry, member{"parameters", parameters})
		}
		return entry
	},
}

// outputSchema returns the schema of an object, as most revisions of MCP require; nil for others.
func outputSchema(returns json.RawMessage) json.RawMessage {
	if len(returns) == 0 {
		return nil
	}
	if schema.IsObject(returns) {
		return ECMA(returns)
	}
	wrapped, err := schema.Wrap(ECMA(returns))
	if err != nil {
		return nil
	}
	return wrapped
}

func function(def *tool.Definition, parameters object) any {
	return object{{"type", "function"}, {"function", object{
		{"name", def.Name}, {"description", def.Description}, {"parameters", parameters},
	}}}
}

func flatFunction(def *tool.Definition, parameters object) any {
	return object{{"type", "function"}, {"name", def.Name}, {"description", def.Description},
		{"parameters", parameters}, {"strict", false}}
}

func wrap(format Format, entries []any) any {
	switch format {
	case MCP:
		return object{{"tools", entries}}
	case Gemini:
		return object{{"functionDeclarations", entries}}
	default:
		return entries
	}
}

func indent(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, tool.Errorf(tool.Internal, "the definitions cannot be written: %w",
			err).Suggest("Tell the tool's author.")
	}
	return []byte(b.String()), nil
}
