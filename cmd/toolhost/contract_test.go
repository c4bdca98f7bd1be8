package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// contractCase is one line of the agent toolset's contract: files, a call, and its outcome.
type contractCase struct {
	name   string
	files  map[string]string // before; a trailing slash means a directory
	tool   string
	params string   // {{DIR}} is the workspace
	text   string   // the whole result text
	has    []string // parts of the result's or error's text
	fails  bool
	usage  bool              // a usage error on the command line
	after  map[string]string // expected files; "<none>" for a missing one
	needs  string            // program
}

// faces are the three ways to call a tool; each returns the text and whether the call failed.
var faces = map[string]func(t *testing.T, dir string, c contractCase) (text string, failed bool){
	"mcp":  callOverMCP,
	"cli":  callOnCommandLine,
	"json": callForJSON,
}

func callOverMCP(t *testing.T, dir string, c contractCase) (string, bool) {
	s := serve(t, dir, "--toolset", "agent")
	r := s.call(c.tool, c.params)
	if slices.Contains(jsonTools, c.tool) && !c.fails {
		assert.NotEmpty(t, r.Structured, "structuredContent carries the object")
		assert.JSONEq(t, string(r.Structured), r.text())
	}
	for _, item := range r.Content {
		assert.Equal(t, "text", item.Type)
	}
	assert.Zero(t, s.end())
	assert.Empty(t, s.noise)
	return r.text(), r.IsError
}

// jsonTools return an object, which is also the text.
var jsonTools = []string{
	"edit_file", "multi_edit", "append_file", "web_fetch", "html_to_markdown", "todowrite", "todoread", "list_commands",
}

func runCall(t *testing.T, dir string, c contractCase, more ...string) (stdout, stderr string, code int) {
	t.Helper()
	args := append([]string{"call", "--toolset", "agent", c.tool, "--params", c.params}, more...)
	cmd := program(t, dir, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func callOnCommandLine(t *testing.T, dir string, c contractCase) (string, bool) {
	stdout, stderr, code := runCall(t, dir, c)
	if code == 0 {
		assert.Empty(t, stderr)
		return stdout, false
	}
	assert.Equal(t, wantCode(c), code, stderr)
	if c.tool != "run_command" {
		assert.Empty(t, stdout)
	}
	assert.GreaterOrEqual(t, strings.Count(stderr, "\n"), 2, "what happened, and what to do next: %s", stderr)
	return stdout + stderr, true
}

func wantCode(c contractCase) int {
	if c.usage {
		return 2
	}
	return 1
}

func callForJSON(t *testing.T, dir string, c contractCase) (string, bool) {
	stdout, stderr, code := runCall(t, dir, c, "--json")
	assert.Empty(t, stderr)
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(stdout), &object), stdout)
	for _, key := range []string{"tool", "success", "output", "files_affected", "execution_time_ms"} {
		assert.Contains(t, object, key)
	}
	var o struct {
		Success bool
		Output  string
		Error   struct{ Code, Message, Suggestion string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &o))
	if o.Success {
		assert.Zero(t, code)
		return o.Output, false
	}
	assert.Equal(t, wantCode(c), code)
	assert.Regexp(t, `^[a-z]+(_[a-z]+)*$`, o.Error.Code)
	assert.NotEmpty(t, o.Error.Suggestion)
	return o.Output + o.Error.Message + "\n" + o.Error.Suggestion, true
}

func content(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(data)
}

func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			testproc.Replace(t, path, content) // a server may look at any time
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

func (c contractCase) run(t *testing.T, face func(*testing.T, string, contractCase) (string, bool)) {
	if c.needs != "" {
		testneed.Program(t, c.needs)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir = filepath.Join(dir, "a wörk space")
	require.NoError(t, os.Mkdir(dir, 0o755))
	plant(t, dir, c.files)
	c.params = strings.ReplaceAll(c.params, "{{DIR}}", filepath.ToSlash(dir))
	text, failed := face(t, dir, c)
	assert.Equal(t, c.fails, failed, text)
	if c.text != "" {
		// The command line adds a final newline.
		assert.Equal(t, strings.TrimSuffix(c.text, "\n"), strings.TrimSuffix(text, "\n"))
	}
	for _, part := range c.has {
		assert.Contains(t, text, part)
	}
	c.checkAfter(t, dir)
}

func (c contractCase) checkAfter(t *testing.T, dir string) {
	t.Helper()
	want := maps.Clone(c.files)
	if want == nil {
		want = make(map[string]string)
	}
	maps.Copy(want, c.after)
	for name, content := range want {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if content == "<none>" {
			assert.NoFileExists(t, path)
			assert.NoDirExists(t, path)
			continue
		}
		if strings.HasSuffix(name, "/") {
			assert.DirExists(t, path)
			continue
		}
		got, err := os.ReadFile(path)
		if assert.NoError(t, err) {
			assert.Equal(t, content, string(got), name)
		}
	}
}

// TestContractAgent tests the contract of the toolset agent through every face.
func TestContractAgent(t *testing.T) {
	all := slices.Concat(fileCases(), editCases(), multiEditCases(), searchCases(), passthroughCases(), todoCases(),
		taskCases(), htmlCases())
	names := slices.Sorted(maps.Keys(faces))
	for i, c := range all {
		for j, face := range names {
			if testing.Short() && i%len(names) != j {
				continue // each case through one face
			}
			call := faces[face]
			t.Run(c.tool+" "+c.name+"/"+face, func(t *testing.T) {
				t.Parallel()
				c.run(t, call)
			})
		}
	}
}

// TestContractAgentListsExactlyItsTools compares with the names and parameters in the contract's
// document.
func TestContractAgentListsExactlyItsTools(t *testing.T) {
	want := map[string][]string{
		"head": {"args"}, "tail": {"args"}, "cloc": {"args"}, "wc": {"args"}, "cp": {"args"}, "mv": {"args"},
		"rm":    {"args"},
		"touch": {"args"}, "mkdir": {"args"}, "task": {"args"},
		"read_file": {"path"}, "list_files": {"path"}, "write_file": {"content", "path"},
		"append_file": {"content", "path"},
		"edit_file":   {"expected_replacements", "new_str", "old_str", "path"},
		"multi_edit":  {"edits", "file_path"}, "delete_file": {"path"}, "rg": {"args", "pattern"}, "glob": {"pattern"},
		"git_diff":  {},
		"web_fetch": {"url"}, "html_to_markdown": {"path"}, "todowrite": {"todos_json"}, "todoread": {},
		"list_commands": {}, "run_command": {"args", "command"},
	}
	optional := map[string]bool{"expected_replacements": true, "args": true}
	dir := t.TempDir()
	plant(t, dir, map[string]string{"agent.hcl": `tool "extra" {
  description = "Not in the contract. Returns: nothing."
  risk        = "read_only"
  command { argv = ["true"] }
}
`})
	s := serve(t, dir, "--toolset", "agent")
	var list struct {
		Tools []struct {
			Name, Title, Description string
			Annotations              map[string]any
			InputSchema              struct {
				Type       string
				Properties map[string]any
				Required   []string
			}
		}
	}
	m := s.request("tools/list", map[string]any{})
	require.NoError(t, json.Unmarshal(m.Result, &list))
	got := make(map[string][]string)
	for _, tool := range list.Tools {
		params := slices.Sorted(maps.Keys(tool.InputSchema.Properties))
		got[tool.Name] = append([]string{}, params...)
		for _, p := range params {
			need := !optional[p] && !(tool.Name == "list_files" && p == "path")
			assert.Equal(t, need, slices.Contains(tool.InputSchema.Required, p), "%s of %s", p, tool.Name)
		}
		assert.Equal(t, "object", tool.InputSchema.Type)
		assert.Contains(t, tool.Description, "Returns:", tool.Name)
		assert.NotEmpty(t, tool.Title)
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			assert.Contains(t, tool.Annotations, hint, tool.Name)
		}
	}
	assert.Equal(t, want, got)
	assert.Contains(t, serve(t, dir).offered(), "extra", "without --toolset the project's own tools are there")
}

// TestContractCliagentCreateFileOverMCP sends files up to the contract's 10 MB, and one byte more.
func TestContractCliagentCreateFileOverMCP(t *testing.T) {
	testneed.NotShort(t, "makes the calls that the command line makes again over MCP")
	const limit = 10 << 20
	for name, c := range map[string]struct {
		size    int
		content string // as JSON
	}{
		"at the limit":              {limit, strings.Repeat("x", limit)},
		"escaped, at the limit":     {limit, strings.Repeat(`\u00fc`, limit/2)},
		"one byte beyond the limit": {limit + 1, strings.Repeat("x", limit+1)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := serve(t, dir, "--toolset", "cliagent").call("create_file", `{"path":"f","content":"`+c.content+`"}`)
			info, err := os.Stat(filepath.Join(dir, "f"))
			if c.size > limit {
				assert.True(t, r.IsError)
				assert.ErrorIs(t, err, os.ErrNotExist)
				return
			}
			assert.Equal(t, "Created file: f (10485760 bytes)", r.text())
			assert.Regexp(t, `^\{"success":true,"output":"[^"]*","files_affected":\["f"\],"execution_time_ms":\d+\}$`,
				string(r.Structured),
				"the contract's fields; the tool's name is for --json")
			require.NoError(t, err)
			assert.EqualValues(t, c.size, info.Size())
		})
	}
}
