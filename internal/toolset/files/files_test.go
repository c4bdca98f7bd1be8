package files_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/toolset/files"
)

type fixture struct {
	root  string
	tools map[string]tool.Tool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws, err := workspace.Open(root, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	f := &fixture{root: root, tools: make(map[string]tool.Tool)}
	for _, tl := range files.New(ws, sandbox.Settings{}) {
		f.tools[tl.Definition().Name] = tl
	}
	return f
}

func (f *fixture) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(f.root, name)
	testfile.Write(t, path, content)
}

func (f *fixture) read(t *testing.T, name string) string {
	t.Helper()
	return testfile.Read(t, filepath.Join(f.root, name))
}

// call does what the host does: check parameters, fill in defaults, call.
func (f *fixture) call(t *testing.T, name, params string) (*tool.Result, error) {
	t.Helper()
	tl := f.tools[name]
	require.NotNil(t, tl, name)
	compiled, err := schema.Compile(tl.Definition().Parameters)
	require.NoError(t, err)
	decoded, _, violations := compiled.Decode(json.RawMessage(params))
	require.Empty(t, violations)
	return tl.Call(t.Context(), &tool.Call{Tool: name, Params: decoded, Step: 1})
}

func (f *fixture) text(t *testing.T, name, params string) string {
	t.Helper()
	r, err := f.call(t, name, params)
	require.NoError(t, err)
	return r.Text()
}

func (f *fixture) fails(t *testing.T, code tool.Code, message, name, params string) {
	t.Helper()
	_, err := f.call(t, name, params)
	require.Error(t, err, "%s %s", name, params)
	assert.Equal(t, code, tool.CodeOf(err), "%s %s: %v", name, params, err)
	assert.Contains(t, err.Error(), message)
	assert.NotEmpty(t, tool.AsError(err).Suggestion)
}

func TestDefinitions(t *testing.T) {
	want := map[string][]string{ // the contract's parameters, no more
		"read_file": {"path"}, "list_files": {"path"}, "write_file": {"content", "path"},
		"append_file": {"content", "path"}, "delete_file": {"path"}, "rg": {"pattern", "args"},
		"glob": {"pattern"}, "git_diff": {},
	}
	tools := files.New(nil, sandbox.Settings{})
	assert.Len(t, tools, len(want))
	for _, tl := range tools {
		d := tl.Definition()
		var s struct {
			Properties           map[string]any
			AdditionalProperties any
		}
		require.NoError(t, json.Unmarshal(d.Parameters, &s), d.Name)
		names := []string{}
		for name := range s.Properties {
			names = append(names, name)
		}
		assert.ElementsMatch(t, want[d.Name], names, d.Name)
		assert.Equal(t, false, s.AdditionalProperties, d.Name)
		assert.Contains(t, d.Description, "Returns:", d.Name)
		assert.True(t, d.Risk.Valid(), d.Name)
		assert.NotEmpty(t, d.Permissions, d.Name)
		compiled, err := schema.Compile(d.Parameters)
		require.NoError(t, err, d.Name)
		require.NotEmpty(t, d.Examples, d.Name)
		for _, e := range d.Examples {
			_, _, violations := compiled.Decode(e.Params)
			assert.Empty(t, violations, d.Name)
		}
		_, err = tl.Call(t.Context(), &tool.Call{Tool: d.Name, Params: json.RawMessage("{}")})
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err), d.Name)
	}
}

func TestReadFile(t *testing.T) {
	f := newFixture(t)
	for name, content := range map[string]string{
		"README.md": "# Title\r\nno newline at the end", "empty": "", "bom": "\ufefftext\n",
		"sub/ü.txt": "tief\n", "large": strings.Repeat("line\n", 1<<18),
	} {
		f.write(t, name, content)
		assert.Equal(t, content, f.text(t, "read_file", `{"path":`+string(tool.MustMarshal(name))+`}`))
	}
	assert.Equal(t, "tief\n", f.text(t, "read_file", `{"path":"`+filepath.ToSlash(f.root)+`/sub/../sub/ü.txt"}`))
	f.write(t, "utf16", "\xff\xfeh\x00i\x00\n\x00")
	assert.Equal(t, "hi\n", f.text(t, "read_file", `{"path":"utf16"}`))
	f.write(t, "latin1", "caf\xe9\n")
	assert.Equal(t, "café\n", f.text(t, "read_file", `{"path":"latin1"}`), "as edit_file takes it")
	f.fails(t, tool.NotADirectory, "README.md is not a directory", "read_file", `{"path":"README.md/x"}`)

	f.fails(t, tool.NotFound, "missing.txt", "read_file", `{"path":"missing.txt"}`)
	f.fails(t, tool.IsDirectory, "Is a directory: 'sub'", "read_file", `{"path":"sub"}`)
	f.fails(t, tool.PathOutsideWorkspace, "../x", "read_file", `{"path":"../x"}`)
	f.fails(t, tool.PathOutsideWorkspace, "/etc/passwd", "read_file", `{"path":"/etc/passwd"}`)
	f.fails(t, tool.InvalidArgument, "", "read_file", `{"path":""}`)
	f.write(t, "binary", "a\x00b")
	f.fails(t, tool.BinaryFile, "binary", "read_file", `{"path":"binary"}`)
	f.write(t, "huge", strings.Repeat("x", 10<<20+1))
	f.fails(t, tool.TooLarge, "huge", "read_file", `{"path":"huge"}`)
	require.NoError(t, os.Symlink("/etc", filepath.Join(f.root, "out")))
	f.fails(t, tool.PathOutsideWorkspace, "out/passwd", "read_file", `{"path":"out/passwd"}`)
}

func TestListFiles(t *testing.T) {
	f := newFixture(t)
	assert.Equal(t, "[]", f.text(t, "list_files", `{}`))
	for _, name := range []string{"b.txt", "a/x.go", "a/y/z.go", "a.txt", ".hidden", ".git/config",
		".agent/Taskfile.yml", "agent/tool.go", "a/.git/HEAD"} {
		f.write(t, name, "")
	}
	require.NoError(t, os.Mkdir(filepath.Join(f.root, "empty"), 0o755))
	assert.JSONEq(t, `[".hidden","a/","a.txt","a/x.go","a/y/","a/y/z.go","agent/","agent/tool.go","b.txt","empty/"]`,
		sorted(t, f.text(t, "list_files", `{}`)))
	assert.Equal(t, `["tool.go"]`, f.text(t, "list_files", `{"path":"agent"}`))
	assert.Equal(t, `["x.go","y/","y/z.go"]`, f.text(t, "list_files", `{"path":"./a/"}`))
	assert.Equal(t, `[]`, f.text(t, "list_files", `{"path":"empty"}`))
	require.NoError(t, os.Symlink("a", filepath.Join(f.root, "link")))
	assert.Equal(t, `["x.go","y/","y/z.go"]`, f.text(t, "list_files", `{"path":"link"}`))
	assert.Equal(t, `["z.go"]`, f.text(t, "list_files", `{"path":"link/y"}`))
	require.NoError(t, os.Remove(filepath.Join(f.root, "link")))
	first := f.text(t, "list_files", `{"path":""}`)
	assert.Equal(t, first, f.text(t, "list_files", `{}`))

	f.fails(t, tool.NotFound, "nowhere", "list_files", `{"path":"nowhere"}`)
	f.fails(t, tool.NotADirectory, "a.txt is not a directory", "list_files", `{"path":"a.txt"}`)
	f.fails(t, tool.PathOutsideWorkspace, "..", "list_files", `{"path":".."}`)
}

func sorted(t *testing.T, array string) string {
	t.Helper()
	var names []string
	require.NoError(t, json.Unmarshal([]byte(array), &names))
	want := map[string]bool{}
	for _, n := range names {
		want[n] = true
	}
	var out []string
	for _, n := range []string{".hidden", "a/", "a.txt", "a/x.go", "a/y/", "a/y/z.go", "agent/", "agent/tool.go",
		"b.txt", "empty/"} {
		if want[n] {
			out = append(out, n)
		}
	}
	assert.Len(t, names, len(out), array)
	return string(tool.MustMarshal(out))
}

func TestWriteFile(t *testing.T) {
	f := newFixture(t)
	r, err := f.call(t, "write_file", `{"content":"Hello World","path":"greeting.txt"}`)
	require.NoError(t, err)
	assert.Equal(t, "Successfully wrote to 'greeting.txt'.", r.Text())
	assert.Equal(t, []string{"greeting.txt"}, r.FilesAffected)
	assert.Equal(t, "Hello World", f.read(t, "greeting.txt"))
	assert.Equal(t, "Successfully wrote to './new/dir/f'.",
		f.text(t, "write_file", `{"content":"a\r\nb","path":"./new/dir/f"}`))
	assert.Equal(t, "a\r\nb", f.read(t, "new/dir/f"))
	f.text(t, "write_file", `{"content":"","path":"greeting.txt"}`)
	assert.Empty(t, f.read(t, "greeting.txt"))

	f.fails(t, tool.IsDirectory, "Is a directory: 'new'", "write_file", `{"content":"x","path":"new"}`)
	f.fails(t, tool.IsDirectory, "Is a directory: 'newer/'", "write_file", `{"content":"x","path":"newer/"}`)
	assert.NoFileExists(t, filepath.Join(f.root, "newer"))
	f.fails(t, tool.NotADirectory, "greeting.txt/ is not a directory", "write_file",
		`{"content":"x","path":"greeting.txt/"}`)
	f.fails(t, tool.NotADirectory, "greeting.txt/ is not a directory", "append_file",
		`{"content":"x","path":"greeting.txt/"}`)
	f.fails(t, tool.NotADirectory, "greeting.txt/ is not a directory", "delete_file", `{"path":"greeting.txt/"}`)
	_, err = f.call(t, "delete_file", `{"path":"greeting.txt/"}`)
	assert.Equal(t, "Leave the slash at the end out to name the file.", tool.AsError(err).Suggestion)
	assert.Empty(t, f.read(t, "greeting.txt"))
	f.fails(t, tool.PathOutsideWorkspace, "../x", "write_file", `{"content":"x","path":"../x"}`)
	f.fails(t, tool.PermissionDenied, ".git/config", "write_file", `{"content":"x","path":".git/config"}`)
	assert.NoDirExists(t, filepath.Join(f.root, ".git"))
}

func TestAppendFile(t *testing.T) {
	f := newFixture(t)
	r, err := f.call(t, "append_file", `{"content":"New log entry.\n","path":"log.txt"}`)
	require.NoError(t, err)
	assert.Equal(t, `{"message":"Successfully appended to 'log.txt'."}`, r.Text())
	assert.JSONEq(t, r.Text(), string(r.Structured))
	assert.Equal(t, []string{"log.txt"}, r.FilesAffected)
	f.text(t, "append_file", `{"content":"More.","path":"log.txt"}`)
	assert.Equal(t, "New log entry.\nMore.", f.read(t, "log.txt"))
	f.fails(t, tool.IsDirectory, "Is a directory: '.'", "append_file", `{"content":"x","path":"."}`)
	f.fails(t, tool.PathOutsideWorkspace, "/tmp/x", "append_file", `{"content":"x","path":"/tmp/x"}`)
}

func TestAppendFileKeepsEncodingAndLineEndings(t *testing.T) {
	long := strings.Repeat("line\r\n", 1<<16)
	wide := "\xff\xfe" + strings.Repeat("x\x00", 1<<16)
	for name, c := range map[string]struct{ file, content, want string }{
		"LF":               {"a\n", "b\nc\n", "a\nb\nc\n"},
		"CRLF":             {"a\r\n", "b\nc\n", "a\r\nb\r\nc\r\n"},
		"CRLF given":       {"a\r\n", "b\r\n", "a\r\nb\r\n"},
		"no line yet":      {"a", "b\r\nc\n", "ab\r\nc\n"},
		"empty":            {"", "b\r\nc\n", "b\r\nc\n"},
		"UTF-8 mark":       {"\ufeffa\r\n", "é\n", "\ufeffa\r\né\r\n"},
		"UTF-16":           {"\xff\xfea\x00\n\x00", "é\n", "\xff\xfea\x00\n\x00\xe9\x00\n\x00"},
		"UTF-16 BE":        {"\xfe\xff\x00a\x00\r\x00\n", "b\n", "\xfe\xff\x00a\x00\r\x00\n\x00b\x00\r\x00\n"},
		"Latin-1":          {"caf\xe9\n", "é\n", "caf\xe9\n\xe9\n"},
		"binary":           {"\x00\r\n", "é\n", "\x00\r\né\n"},
		"long, CRLF":       {long, "b\n", long + "b\r\n"},
		"long, UTF-16":     {wide, "b", wide + "b\x00"},
		"long, cut in a é": {strings.Repeat("é", 1<<15+1) + "x", "é", strings.Repeat("é", 1<<15+1) + "xé"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(t, "f", c.file)
			params := string(tool.MustMarshal(map[string]string{"path": "f", "content": c.content}))
			planned, err := f.tools["append_file"].(tool.Planner).Plan(t.Context(),
				&tool.Call{Params: json.RawMessage(params)})
			require.NoError(t, err)
			assert.Equal(t, []string{"f"}, planned.FilesAffected)
			f.text(t, "append_file", params)
			assert.Equal(t, c.want, f.read(t, "f"))
		})
	}
}

func TestDeleteFile(t *testing.T) {
	f := newFixture(t)
	f.write(t, "new_file.txt", "x")
	f.write(t, "dir/kept", "x")
	r, err := f.call(t, "delete_file", `{"path":"new_file.txt"}`)
	require.NoError(t, err)
	assert.Equal(t, "Successfully deleted file new_file.txt", r.Text())
	assert.Equal(t, []string{"new_file.txt"}, r.FilesAffected)
	assert.NoFileExists(t, filepath.Join(f.root, "new_file.txt"))
	f.fails(t, tool.NotFound, "file does not exist: new_file.txt", "delete_file", `{"path":"new_file.txt"}`)
	f.fails(t, tool.IsDirectory, "Is a directory: 'dir'", "delete_file", `{"path":"dir"}`)
	f.fails(t, tool.PathOutsideWorkspace, "..", "delete_file", `{"path":"../x"}`)
}

func TestPlansChangeNothing(t *testing.T) {
	f := newFixture(t)
	f.write(t, "a.txt", "one\ntwo\n")
	plan := func(name, params string) (*tool.Plan, error) {
		return f.tools[name].(tool.Planner).Plan(context.Background(),
			&tool.Call{Tool: name, Params: json.RawMessage(params)})
	}
	p, err := plan("write_file", `{"path":"a.txt","content":"one\n2\n"}`)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.txt"}, p.FilesAffected)
	assert.Contains(t, p.Preview, "-two\n+2\n")
	p, err = plan("write_file", `{"path":"b/c.txt","content":"new\n"}`)
	require.NoError(t, err)
	assert.Contains(t, p.Preview, "--- /dev/null\n+++ b/b/c.txt\n")
	p, err = plan("append_file", `{"path":"a.txt","content":"three\n"}`)
	require.NoError(t, err)
	assert.Contains(t, p.Preview, " two\n+three\n")
	p, err = plan("delete_file", `{"path":"a.txt"}`)
	require.NoError(t, err)
	assert.Contains(t, p.Preview, "-one\n-two\n")
	assert.Equal(t, "one\ntwo\n", f.read(t, "a.txt"))
	assert.NoDirExists(t, filepath.Join(f.root, "b"))

	for code, call := range map[tool.Code][2]string{
		tool.NotFound:             {"delete_file", `{"path":"zzz"}`},
		tool.IsDirectory:          {"write_file", `{"path":".","content":""}`},
		tool.PathOutsideWorkspace: {"append_file", `{"path":"../a","content":""}`},
		tool.PermissionDenied:     {"write_file", `{"path":".git/hooks/x","content":""}`},
	} {
		_, err := plan(call[0], call[1])
		assert.Equal(t, code, tool.CodeOf(err), call)
	}
}

func TestGlob(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"main.go", "README.md", "docs/a.md", "docs/deep/b.md", "c.txt", ".git/x.md"} {
		f.write(t, name, "")
	}
	assert.Equal(t, `["main.go"]`, f.text(t, "glob", `{"pattern":"*.go"}`))
	assert.Equal(t, `["README.md","docs/a.md","docs/deep/b.md"]`, f.text(t, "glob", `{"pattern":"**/*.md"}`))
	assert.Equal(t, `["c.txt","main.go"]`, f.text(t, "glob", `{"pattern":"*.{go,txt}"}`))
	assert.Equal(t, `["docs","docs/a.md","docs/deep","docs/deep/b.md"]`, f.text(t, "glob", `{"pattern":"docs/**"}`))
	assert.Equal(t, "No matches found", f.text(t, "glob", `{"pattern":"*.rs"}`))
	f.fails(t, tool.InvalidArgument, "[", "glob", `{"pattern":"[a"}`)
	f.fails(t, tool.InvalidArgument, "empty", "glob", `{"pattern":""}`)
	f.fails(t, tool.PathOutsideWorkspace, "..", "glob", `{"pattern":"../*"}`)
}

func TestGlobLeavesOutWhatToolhostKeeps(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{
		".agent/Taskfile.yml", ".agent/runs/cli/events.jsonl", ".agent/cache/webfetch/x.html", ".git/config", "a.txt",
	} {
		testfile.Write(t, filepath.Join(root, name), "x")
	}
	f := reopen(t, root)
	assert.Equal(t, `["a.txt"]`, f.text(t, "glob", `{"pattern":"**/*"}`))
	assert.Equal(t, `["a.txt"]`, f.text(t, "list_files", `{}`), "both say the same")
	assert.Equal(t, `[".agent/Taskfile.yml"]`, f.text(t, "glob", `{"pattern":".agent/*"}`))
	assert.Equal(t, `[".agent/Taskfile.yml"]`, f.text(t, "glob", `{"pattern":".agent/**/*.yml"}`))
	assert.Equal(t, `[".agent/cache/webfetch/x.html"]`, f.text(t, "glob", `{"pattern":".agent/cache/webfetch/*"}`))
}

// reopen makes a fixture of an existing directory.
func reopen(t *testing.T, root string) *fixture {
	t.Helper()
	ws, err := workspace.Open(root, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	f := &fixture{root: root, tools: make(map[string]tool.Tool)}
	for _, tl := range files.New(ws, sandbox.Settings{}) {
		f.tools[tl.Definition().Name] = tl
	}
	return f
}
