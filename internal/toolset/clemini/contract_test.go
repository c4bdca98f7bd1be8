package clemini_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type parameter struct {
	name, kind string
	required   bool
	fallback   string // the default, as JSON or in words; "" for none
}

type tooldoc struct {
	parameters []parameter
	// returns are the fields of a success.
	returns  []string
	examples int
}

// contract is the document's reference part.
func contract() map[string]tooldoc {
	return map[string]tooldoc{
		"read_file": {[]parameter{{"file_path", "string", true, ""}, {"offset", "integer", false, "1"},
			{"limit", "integer", false, "2000"}},
			[]string{"contents", "total_lines", "truncated"}, 3},
		"write_file": {[]parameter{{"file_path", "string", true, ""}, {"content", "string", true, ""},
			{"backup", "boolean", false, "false"}},
			[]string{"success", "bytes_written", "created", "overwritten", "backup_created"}, 3},
		"edit": {[]parameter{{"file_path", "string", true, ""}, {"old_string", "string", false, ""},
			{"new_string", "string", true, ""},
			{"replace_all", "boolean", false, "false"}, {"create_if_not_exists", "boolean", false, "false"}},
			[]string{"success", "replacements", "file_size", "suggestions"}, 5},
		"glob": {[]parameter{{"pattern", "string", true, ""}, {"directory", "string", false, "cwd"},
			{"sort", "string", false, `"name"`},
			{"head_limit", "integer", false, "no limit"}, {"offset", "integer", false, "0"}},
			[]string{"matches", "count", "total_found", "truncated"}, 4},
		"grep": {[]parameter{{"pattern", "string", true, ""}, {"directory", "string", false, "cwd"},
			{"file_pattern", "string", false, `"**/*"`}, {"type", "string", false, ""},
			{"output_mode", "string", false, `"content"`}, {"case_insensitive", "boolean", false, "false"},
			{"context", "integer", false, "0"},
			{"before_context", "integer", false, "context"}, {"after_context", "integer", false, "context"},
			{"head_limit", "integer", false, "no limit"}, {"offset", "integer", false, "0"}},
			[]string{"matches", "count", "total_found", "truncated"}, 5},
		"bash": {[]parameter{{"command", "string", true, ""}, {"description", "string", false, ""},
			{"working_directory", "string", false, "cwd"},
			{"timeout_seconds", "integer", false, "120"}, {"confirmed", "boolean", false, "false"},
			{"run_in_background", "boolean", false, "false"}},
			[]string{"stdout", "stderr", "exit_code", "task_id", "status"}, 8},
		"kill_shell": {[]parameter{{"task_id", "string", true, ""}}, []string{"task_id", "status", "success"}, 3},
		"task": {[]parameter{{"prompt", "string", true, ""}, {"background", "boolean", false, "false"}},
			[]string{"status", "stdout", "stderr", "exit_code", "task_id", "prompt"}, 4},
		"task_output": {[]parameter{{"task_id", "string", true, ""}, {"wait", "boolean", false, "false"},
			{"timeout", "integer", false, "30"}},
			[]string{"task_id", "status", "exit_code", "stdout", "stderr"}, 3},
		"ask_user": {[]parameter{{"question", "string", true, ""}, {"options", "array", false, ""}},
			[]string{"answer"}, 4},
		"todo_write": {[]parameter{{"todos", "array", true, ""}}, []string{"success", "count"}, 3},
		"web_search": {[]parameter{{"query", "string", true, ""}, {"allowed_domains", "array", false, ""},
			{"blocked_domains", "array", false, ""}}, []string{"results", "query"}, 4},
		"web_fetch": {[]parameter{{"url", "string", true, ""}, {"prompt", "string", false, ""}},
			[]string{"content", "processed_content"}, 4},
	}
}

func codes() []string {
	return []string{"ACCESS_DENIED", "NOT_FOUND", "IO_ERROR", "INVALID_ARGUMENT", "NOT_UNIQUE", "BINARY_FILE",
		"BLOCKED", "TIMEOUT", "NEEDS_CONFIRMATION"}
}

// facts returns everything that the contract says, under the names that cases use.
func facts() []string {
	all := []string{}
	for name, doc := range contract() {
		for _, p := range doc.parameters {
			all = append(all, name+" parameter "+p.name)
			if p.fallback != "" {
				all = append(all, name+" default "+p.name)
			}
		}
		for _, field := range doc.returns {
			all = append(all, name+" result "+field)
		}
		for i := range doc.examples {
			all = append(all, fmt.Sprintf("%s example %d", name, i+1))
		}
	}
	for _, code := range codes() {
		all = append(all, "code "+code)
	}
	slices.Sort(all)
	return all
}

type provingCase struct {
	proves string // separated by semicolons
	run    func(t *testing.T)
}

// TestContract runs every case, and checks that each fact of the contract has one.
func TestContract(t *testing.T) {
	proven := map[string]bool{}
	for _, group := range [][]provingCase{fileCases(), searchCases(), bashCases(), taskCases(), interactionCases(),
		webCases()} {
		for _, c := range group {
			for _, fact := range strings.Split(c.proves, "; ") {
				assert.Contains(t, facts(), fact, "a case proves what the contract does not say")
				proven[fact] = true
			}
			t.Run(c.proves, func(t *testing.T) {
				t.Parallel()
				c.run(t)
			})
		}
	}
	for _, fact := range facts() {
		assert.True(t, proven[fact], "no case proves: %s", fact)
	}
}

func TestDefinitions(t *testing.T) {
	b := newBench(t)
	require.Len(t, b.tools, len(contract()))
	for name, doc := range contract() {
		definition := b.tools[name].Definition()
		var shape struct {
			Properties map[string]struct {
				Type        string
				Description string
				Default     json.RawMessage
			}
			Required             []string
			AdditionalProperties *bool
		}
		require.NoError(t, json.Unmarshal(definition.Parameters, &shape))
		assert.False(t, *shape.AdditionalProperties, name)
		assert.Len(t, shape.Properties, len(doc.parameters), name)
		required := []string{}
		for _, p := range doc.parameters {
			property, ok := shape.Properties[p.name]
			require.True(t, ok, "%s.%s", name, p.name)
			assert.Equal(t, p.kind, property.Type, "%s.%s", name, p.name)
			if p.required {
				required = append(required, p.name)
			}
			if json.Valid([]byte(p.fallback)) {
				assert.JSONEq(t, p.fallback, string(property.Default), "%s.%s", name, p.name)
			}
			if p.fallback != "" {
				assert.True(t, strings.HasSuffix(property.Description, "(default: "+strings.Trim(p.fallback, `"`)+")"),
					"%s.%s: %s", name, p.name, property.Description)
			}
		}
		assert.ElementsMatch(t, required, shape.Required, name)
		_, clause, found := strings.Cut(definition.Description, "Returns: ")
		require.True(t, found, name)
		for _, field := range doc.returns {
			assert.Regexp(t, `\b`+regexp.QuoteMeta(field)+`\b`, clause, name)
		}
		assert.NotEmpty(t, definition.Examples, name)
		for _, example := range definition.Examples {
			compiled := compile(t, definition.Parameters)
			_, _, violations := compiled.Decode(example.Params)
			assert.Empty(t, violations, "%s: %s", name, example.Params)
		}
	}
}
