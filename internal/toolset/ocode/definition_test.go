package ocode_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/export"
	"github.com/toolhost/toolhost/internal/toolset/ocode"
)

type parameter struct {
	name, kind string
	required   bool
	byDefault  string // as JSON; "" if none
	enum       []string
}

// contract is a tool in the contract's document.
type contract struct {
	name        string
	category    string // "" if none
	permissions []tool.Permission
	parameters  []parameter
}

func need(name, kind string, enum ...string) parameter {
	return parameter{name, kind, true, "", enum}
}

func may(name, kind, byDefault string, enum ...string) parameter {
	return parameter{name, kind, false, byDefault, enum}
}

func contracts() []contract {
	return []contract{
		{"file_read", "file_operations", []tool.Permission{"file_read"}, []parameter{
			need("path", "string"), may("start_line", "integer", "1"), may("end_line", "integer", "")}},
		{"file_write", "file_operations", []tool.Permission{"file_write"}, []parameter{
			need("path", "string"), need("content", "string"), may("create_dirs", "boolean", "true")}},
		{"file_edit", "", nil, []parameter{
			need("path", "string"), need("old_text", "string"), need("new_text", "string"),
			may("occurrence", "integer", "0")}},
		{"file_ops", "", nil, []parameter{
			need("operation", "string", "copy", "move", "remove"), need("source", "string"),
			may("destination", "string", "")}},
		{"grep", "", nil, []parameter{
			need("pattern", "string"), may("path", "string", `"."`), may("recursive", "boolean", "true"),
			may("ignore_case", "boolean", "false"), may("file_pattern", "string", "")}},
		{"diff", "", nil, []parameter{
			need("source1", "string"), need("source2", "string"), may("unified", "boolean", "true"),
			may("context_lines", "integer", "3")}},
		{"bash", "", []tool.Permission{"shell_exec"}, []parameter{
			need("command", "string"), may("working_dir", "string", ""), may("timeout", "integer", "30"),
			may("env", "object", "")}},
		{"env", "", nil, []parameter{
			need("action", "string", "get", "set", "list", "delete"), may("name", "string", ""),
			may("value", "string", ""),
			may("persistent", "boolean", "false")}},
		{"git_status", "", nil, []parameter{may("path", "string", `"."`), may("verbose", "boolean", "false")}},
		{"test_runner", "", nil, []parameter{
			may("framework", "string", "", "pytest", "unittest", "jest", "mocha", "cargo"), may("path", "string", ""),
			may("verbose", "boolean", "false"), may("coverage", "boolean", "false")}},
		{"architect", "", nil, []parameter{
			need("analysis_type", "string", "overview", "dependencies", "structure", "metrics"),
			may("path", "string", `"."`),
			may("depth", "integer", "3"), may("output_format", "string", `"text"`, "text", "json", "mermaid")}},
		{"think", "", nil, []parameter{
			need("task", "string"), may("context", "string", ""),
			may("approach", "string", `"step_by_step"`, "step_by_step", "pros_cons", "alternatives")}},
		{"memory_read", "", nil, []parameter{
			may("key", "string", ""), may("category", "string", ""),
			may("memory_type", "string", `"persistent"`, "persistent", "session", "all")}},
		{"memory_write", "", nil, []parameter{
			need("key", "string"), need("value", "string"), may("category", "string", `"general"`),
			may("memory_type", "string", `"persistent"`, "persistent", "session"),
			may("operation", "string", `"set"`, "set", "append", "delete")}},
		{"json_yaml", "", nil, []parameter{
			need("action", "string", "parse", "validate", "convert", "query", "merge"), need("input", "string"),
			may("format", "string", `"auto"`, "json", "yaml", "auto"), may("query", "string", ""),
			may("output_format", "string", `"json"`, "json", "yaml", "pretty")}},
		{"mcp", "", nil, []parameter{
			need("action", "string", "list", "call", "resource", "prompt"), may("server", "string", ""),
			may("method", "string", ""), may("params", "object", "")}},
		{"agent", "", nil, []parameter{
			need("action", "string", "create", "delegate", "list", "status", "terminate"),
			may("agent_type", "string", "", "reviewer", "coder", "tester", "analyzer", "general"),
			may("task", "string", ""), may("agent_id", "string", "")}},
	}
}

// exported is a tool in Ollama's form, which is the contract's.
type exported struct {
	Type     string
	Function struct {
		Name, Description string
		Parameters        struct {
			Type       string
			Properties map[string]struct {
				Type, Description string
				Default           json.RawMessage
				Enum              []string
			}
			Required []string
		}
	}
}

func definitions() []*tool.Definition {
	var list []*tool.Definition
	for _, own := range ocode.New(ocode.Deps{}) {
		list = append(list, own.Definition())
	}
	return list
}

func ollama(t *testing.T) map[string]exported {
	t.Helper()
	out, err := export.Definitions(export.Ollama, definitions(), nil)
	require.NoError(t, err)
	var list []exported
	require.NoError(t, json.Unmarshal(out, &list))
	byName := make(map[string]exported)
	for _, e := range list {
		byName[e.Function.Name] = e
	}
	return byName
}

// TestDefinitions compares each definition with the document: each parameter,
// its type, whether it is required, its default and enumeration.
func TestDefinitions(t *testing.T) {
	all := ollama(t)
	defs := definitions()
	require.Len(t, defs, len(contracts()))
	for i, c := range contracts() {
		d := defs[i]
		require.Equal(t, c.name, d.Name)
		e := all[c.name]
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, "function", e.Type)
			assert.Contains(t, e.Function.Description, "Returns:")
			assert.Equal(t, "object", e.Function.Parameters.Type)
			assert.Len(t, e.Function.Parameters.Properties, len(c.parameters), "exactly the document's parameters")
			if c.category != "" {
				assert.Equal(t, c.category, d.Category)
			}
			for _, p := range c.permissions {
				assert.Contains(t, d.Permissions, p)
			}
			assert.NotEmpty(t, d.Category)
			assert.True(t, d.Risk.Valid())
			_, err := schema.Compile(d.Returns)
			require.NoError(t, err)
		})
		for _, p := range c.parameters {
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				got, ok := e.Function.Parameters.Properties[p.name]
				require.True(t, ok)
				t.Run("type", func(t *testing.T) { assert.Equal(t, p.kind, got.Type) })
				t.Run("description", func(t *testing.T) { assert.NotEmpty(t, got.Description) })
				t.Run("required", func(t *testing.T) {
					assert.Equal(t, p.required, slices.Contains(e.Function.Parameters.Required, p.name))
				})
				t.Run("default", func(t *testing.T) { assert.Equal(t, p.byDefault, string(got.Default)) })
				t.Run("enum", func(t *testing.T) { assert.Equal(t, p.enum, got.Enum) })
			})
		}
	}
}

func TestExamplesAreAccepted(t *testing.T) {
	for _, d := range definitions() {
		s, err := schema.Compile(d.Parameters)
		require.NoError(t, err)
		assert.NotEmpty(t, d.Examples, d.Name)
		for _, e := range d.Examples {
			_, _, violations := s.Decode(e.Params)
			assert.Empty(t, violations, d.Name)
		}
	}
}

func TestEnumsRefuseOthers(t *testing.T) {
	b := newBench(t)
	for _, c := range contracts() {
		for _, p := range c.parameters {
			if p.enum == nil {
				continue
			}
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				params := args{}
				for _, other := range c.parameters {
					switch {
					case other.name == p.name:
						params[p.name] = "none of them"
					case other.required && other.enum != nil:
						params[other.name] = other.enum[0]
					case other.required:
						params[other.name] = "x"
					}
				}
				g := b.failsWith("nvalid parameters for "+c.name, c.name, params)
				assert.Contains(t, g.Error, p.name)
			})
		}
	}
}

func TestUnknownParametersAreRefused(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "a\n")
	g := b.failsWith("nvalid parameters for file_read", "file_read", args{"path": "a.txt", "bogus": 1})
	assert.Contains(t, g.Error, "bogus")
}

func TestRequiredParameters(t *testing.T) {
	b := newBench(t)
	for _, c := range contracts() {
		for _, left := range c.parameters {
			if !left.required {
				continue
			}
			t.Run(c.name+"/"+left.name, func(t *testing.T) {
				params := args{}
				for _, p := range c.parameters {
					if p.required && p.name != left.name {
						params[p.name] = "x"
						if p.enum != nil {
							params[p.name] = p.enum[0]
						}
					}
				}
				g := b.failsWith("nvalid parameters for "+c.name, c.name, params)
				assert.Contains(t, g.Error, left.name+": is required")
			})
		}
	}
}

// The export has only keywords of the document's form.
func TestExportHoldsTheDocumentsKeywords(t *testing.T) {
	out, err := export.Definitions(export.Ollama, definitions(), nil)
	require.NoError(t, err)
	var list []struct {
		Function struct {
			Parameters struct {
				Properties map[string]map[string]any
			}
		}
	}
	require.NoError(t, json.Unmarshal(out, &list))
	for _, e := range list {
		for name, p := range e.Function.Parameters.Properties {
			for keyword := range p {
				assert.Contains(t, []string{"type", "description", "default", "enum", "items", "properties"}, keyword,
					name)
			}
		}
	}
}
