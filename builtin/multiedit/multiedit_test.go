package multiedit_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/multiedit"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// bench is a workspace with the tool in it.
type bench struct {
	t    testing.TB
	dir  string
	tool tool.Tool
}

func newBench(t testing.TB) *bench {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir = filepath.Join(dir, "ws")
	require.NoError(t, os.Mkdir(dir, 0o755))
	ws, err := workspace.Open(dir, workspace.Options{Protect: []string{".git/**"}})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	return &bench{t, dir, multiedit.New(ws)}
}

// path is where a file of the workspace lies.
func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) write(name, data string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	require.NoError(b.t, os.WriteFile(b.path(name), []byte(data), 0o644))
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	require.NoError(b.t, err)
	return string(data)
}

type args = map[string]any

// edits makes parameters of old and new strings in turn.
func edits(path string, texts ...string) args {
	list := []args{}
	for i := 0; i < len(texts); i += 2 {
		list = append(list, args{"old_string": texts[i], "new_string": texts[i+1]})
	}
	return args{"file_path": path, "edits": list}
}

type result struct {
	Message            string `json:"message"`
	ActualReplacements int    `json:"actual_replacements"`
	Diff               string `json:"diff"`
}

// call calls the tool as the host does. It sees to it that a plan says the
// same beforehand and changes nothing.
func (b *bench) call(params args) (result, *tool.Error) {
	b.t.Helper()
	compiled, err := schema.Compile(b.tool.Definition().Parameters)
	require.NoError(b.t, err)
	raw, _, violations := compiled.Decode(tool.MustMarshal(params))
	require.Empty(b.t, violations)
	call := &tool.Call{Tool: "multi_edit", Params: raw}

	before := b.snapshot()
	plan, planErr := b.tool.(tool.Planner).Plan(context.Background(), call)
	require.Equal(b.t, before, b.snapshot(), "the plan changed something")

	r, err := b.tool.Call(context.Background(), call)
	if err != nil {
		require.Nil(b.t, r)
		require.Equal(b.t, before, b.snapshot(), "the failed call changed something")
		e := tool.AsError(err)
		require.NotEmpty(b.t, e.Suggestion)
		if planErr != nil {
			require.Equal(b.t, e.Message, planErr.Error())
		}
		return result{}, e
	}
	require.NoError(b.t, planErr)
	require.Equal(b.t, r.FilesAffected, plan.FilesAffected)
	var got result
	require.NoError(b.t, json.Unmarshal(r.Structured, &got))
	require.JSONEq(b.t, string(r.Structured), r.Text())
	require.Contains(b.t, string([]rune(plan.Preview)), got.Diff) // in JSON, broken bytes are U+FFFD
	return got, nil
}

// snapshot lists all files with content, mode and time of change.
func (b *bench) snapshot() map[string]string {
	b.t.Helper()
	files := map[string]string{}
	require.NoError(b.t, filepath.Walk(filepath.Dir(b.dir), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		data := ""
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err == nil {
				data = string(content)
			}
		}
		when := ""
		if !info.IsDir() {
			when = info.ModTime().Format(time.RFC3339Nano)
		}
		files[path] = info.Mode().String() + " " + when + " " + data
		return nil
	}))
	return files
}

func TestDefinition(t *testing.T) {
	d := newBench(t).tool.Definition()
	assert.Equal(t, "multi_edit", d.Name)
	assert.Contains(t, d.Description, "Returns: ")
	assert.Equal(t, tool.Dangerous, d.Risk)
	assert.Equal(t, []tool.Permission{tool.FileRead, tool.FileWrite}, d.Permissions)
	parameters, err := schema.Compile(d.Parameters)
	require.NoError(t, err)
	require.Len(t, d.Examples, 2)
	for _, e := range d.Examples {
		_, _, violations := parameters.Decode(e.Params)
		assert.Empty(t, violations)
	}
	_, err = schema.Compile(d.Returns)
	require.NoError(t, err)
	for _, bad := range []string{
		`{}`, `{"file_path":"f"}`, `{"edits":[]}`, `{"file_path":"f","edits":{}}`, `{"file_path":"f","edits":[{"old_string":"a"}]}`,
		`{"file_path":"f","edits":[],"extra":1}`, `{"file_path":"f","edits":[{"old_string":"a","new_string":"b","extra":1}]}`,
		`{"file_path":"f","edits":[{"old_string":"a","new_string":"b","replace_all":"yes please"}]}`,
	} {
		_, _, violations := parameters.Decode(json.RawMessage(bad))
		assert.NotEmpty(t, violations, bad)
	}
}

func TestDocumentedExample1MultipleReplacements(t *testing.T) {
	b := newBench(t)
	b.write("config/app.json", "{\n  \"debug\": false,\n  version: \"1.0\"\n}\n")
	r, err := b.call(edits("config/app.json", `"debug": false`, `"debug": true`, `version: "1.0"`, `version: "2.0"`))
	require.Nil(t, err)
	assert.Equal(t, result{
		Message:            "Successfully performed multi-edit on file: config/app.json (2 total replacement(s)).",
		ActualReplacements: 2,
		Diff: "--- a/config/app.json\n+++ b/config/app.json\n@@ -1,4 +1,4 @@\n {\n-  \"debug\": false,\n-  version: \"1.0\"\n" +
			"+  \"debug\": true,\n+  version: \"2.0\"\n }\n",
	}, r)
	assert.Equal(t, "{\n  \"debug\": true,\n  version: \"2.0\"\n}\n", b.read("config/app.json"))
}

func TestDocumentedExample2CreateAndEdit(t *testing.T) {
	b := newBench(t)
	r, err := b.call(edits("new_project/main.go",
		"", "package main\n\nfunc main() {\n\t// Initial content\n}\n",
		"// Initial content", "// Updated content with a new line"))
	require.Nil(t, err)
	assert.Equal(t, "Successfully performed multi-edit on file: new_project/main.go (2 total replacement(s)).", r.Message)
	assert.Equal(t, 2, r.ActualReplacements)
	assert.Equal(t, "package main\n\nfunc main() {\n\t// Updated content with a new line\n}\n", b.read("new_project/main.go"))
	assert.True(t, strings.HasPrefix(r.Diff, "--- /dev/null\n+++ b/new_project/main.go\n@@ -0,0 +1,5 @@\n"))
}

func TestSuccess(t *testing.T) {
	for name, c := range map[string]struct {
		data  string
		edits args
		want  string
		count int
	}{
		"first occurrence":        {"a a a", edits("f", "a", "b"), "b a a", 1},
		"one after the other":     {"a", edits("f", "a", "bb", "bb", "c", "c", "d"), "d", 3},
		"replace all":             {"a a a\nb", args{"file_path": "f", "edits": []args{{"old_string": "a", "new_string": "x", "replace_all": true}, {"old_string": "b", "new_string": "y"}}}, "x x x\ny", 4},
		"replace all, false":      {"a a", args{"file_path": "f", "edits": []args{{"old_string": "a", "new_string": "x", "replace_all": false}}}, "x a", 1},
		"no unescaping":           {`a\nb` + "\na\nb", edits("f", `a\nb`, `\t`), `\t` + "\na\nb", 1},
		"there and back":          {"a\n", edits("f", "a", "b", "b", "a"), "a\n", 2},
		"CRLF":                    {"a\r\nb\r\n", edits("f", "a\nb\n", "a\nx\nb\n", "x\nb", "y\nz\nb"), "a\r\ny\r\nz\r\nb\r\n", 2},
		"CRLF by a literal match": {"a\nb\n", edits("f", "a\n", "a\r\n"), "a\r\nb\n", 1},
		"no final newline":        {"a\nb", edits("f", "b", "c", "a", "d"), "d\nc", 2},
		"UTF-8 mark":              {"\xef\xbb\xbfa\n", edits("f", "a", "b"), "\xef\xbb\xbfb\n", 1},
		"UTF-16":                  {"\xfe\xff\x00a\x00\n", edits("f", "a", "€", "€", "ä"), "\xfe\xff\x00\xe4\x00\n", 2},
		"Latin-1":                 {"\xe9 a\n", edits("f", "a", "b"), "\xe9 b\n", 1},
		"NFD":                     {"cafe\u0301 x", edits("f", "x", "e\u0301"), "cafe\u0301 e\u0301", 1},
		"template characters":     {"x y", edits("f", "x", "$1", "y", "$&"), "$1 $&", 2},
		"everything":              {"x", edits("f", "x", ""), "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f", c.data)
			r, err := b.call(c.edits)
			require.Nil(t, err)
			assert.Equal(t, c.count, r.ActualReplacements)
			assert.Equal(t, c.want, b.read("f"))
		})
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		params   args
		contract string
		code     tool.Code
		message  string
	}{
		"not found": {edits("f.go", "func a()", "func b()", "func z()", "x"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"MULTI_EDIT_NO_OCCURRENCE_FOUND: edit 1 (old_string: 'func z()') not found. Rolling back."},
		"found before the edits only": {edits("f.go", "a()", "b()", "a()", "c()"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"MULTI_EDIT_NO_OCCURRENCE_FOUND: edit 1 (old_string: 'a()') not found. Rolling back."},
		"all, not found": {args{"file_path": "f.go", "edits": []args{{"old_string": "zz", "new_string": "y", "replace_all": true}}}, "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"MULTI_EDIT_NO_OCCURRENCE_FOUND: edit 0 (old_string: 'zz') not found. Rolling back."},
		"whitespace":              {edits("f.go", "    return 1", "x"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch, "Rolling back.\nThese lines differ from it in whitespace only (· is a space, → a tab, ␍ a carriage return):\n  4: →return·1"},
		"a long old_string":       {edits("f.go", strings.Repeat("é", 400), "x"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch, "[100 more characters]') not found. Rolling back."},
		"identical":               {edits("f.go", "return", "x", "1", "1"), "EDIT_OLD_NEW_IDENTICAL", tool.NoChange, "EDIT_OLD_NEW_IDENTICAL: edit 1: old_string and new_string are identical. Rolling back. (f.go)"},
		"identical, creating":     {edits("new", "", ""), "EDIT_OLD_NEW_IDENTICAL", tool.NoChange, "edit 0"},
		"no edits":                {edits("f.go"), "MULTI_EDIT_NO_EDITS", tool.InvalidArgument, "(f.go)"},
		"empty old_string later":  {edits("f.go", "a", "b", "", "c"), "MULTI_EDIT_EMPTY_OLD_STRING", tool.InvalidArgument, "edit 1"},
		"existing":                {edits("f.go", "", "x"), "ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists, "(f.go)"},
		"existing directory":      {edits("dir", "", "x"), "ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists, "(dir)"},
		"creating, then no match": {edits("new/f", "", "x", "y", "z"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch, "edit 1 (old_string: 'y')"},
		"missing file":            {edits("no/such", "a", "b"), "EDIT_FILE_NOT_FOUND", tool.NotFound, "(no/such)"},
		"empty path":              {edits("", "a", "b"), "EDIT_INVALID_PATH", tool.InvalidArgument, "the path is empty"},
		"empty file":              {edits("empty", "a", "b"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch, "edit 0"},
		"directory":               {edits("dir", "a", "b"), "EDIT_FILE_READ_ERROR", tool.IsDirectory, "(dir)"},
		"binary":                  {edits("binary", "a", "b"), "EDIT_FILE_READ_ERROR", tool.BinaryFile, "(binary)"},
		"not in Latin-1":          {edits("latin1", "é", "€"), "EDIT_FILE_WRITE_ERROR", tool.Unsupported, "edit 0"},
		"outside":                 {edits("../outside.txt", "secret", "b"), "EDIT_INVALID_PATH", tool.PathOutsideWorkspace, "(../outside.txt)"},
		"outside, absolute":       {edits("/etc/passwd", "root", "b"), "EDIT_INVALID_PATH", tool.PathOutsideWorkspace, "(/etc/passwd)"},
		"symlink to outside":      {edits("link", "secret", "b"), "EDIT_INVALID_PATH", tool.PathOutsideWorkspace, "(link)"},
		"protected":               {edits(".git/config", "a", "b"), "EDIT_FILE_WRITE_ERROR", tool.PermissionDenied, "(.git/config)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("f.go", "package a\n\nfunc a() {\n\treturn 1\n}\n")
			b.write("empty", "")
			b.write("binary", "a\x00b")
			b.write("latin1", "\xe9")
			b.write("dir/x", "a")
			b.write(".git/config", "a")
			b.write("../outside.txt", "secret")
			require.NoError(t, os.Symlink("../outside.txt", b.path("link")))
			_, err := b.call(c.params)
			require.NotNil(t, err)
			assert.Equal(t, c.code, err.Code, err.Message)
			assert.Equal(t, c.contract, err.Details["contract_code"])
			assert.True(t, strings.HasPrefix(err.Message, c.contract+": "), err.Message)
			assert.Contains(t, err.Message, c.message)
			assert.NoDirExists(t, b.path("new"))
		})
	}
}

func TestThereAndBackWritesNothing(t *testing.T) {
	b := newBench(t)
	b.write("f", "a\n")
	before := b.snapshot()
	r, err := b.call(edits("f", "a", "b", "b", "a"))
	require.Nil(t, err)
	assert.Empty(t, r.Diff)
	assert.Equal(t, before, b.snapshot())
}

func TestAbsolutePathModeAndSymlink(t *testing.T) {
	b := newBench(t)
	b.write("d/f", "a")
	require.NoError(t, os.Chmod(b.path("d/f"), 0o751))
	require.NoError(t, os.Symlink("d/f", b.path("link")))
	_, err := b.call(edits(b.path("link"), "a", "b"))
	require.Nil(t, err)
	info, statErr := os.Lstat(b.path("link"))
	require.NoError(t, statErr)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
	info, statErr = os.Stat(b.path("d/f"))
	require.NoError(t, statErr)
	assert.Equal(t, os.FileMode(0o751), info.Mode().Perm())
	assert.Equal(t, "b", b.read("d/f"))
}

func TestLargeFileAndManyEdits(t *testing.T) {
	b := newBench(t)
	half := strings.Repeat("a line of text that repeats\n", 5<<20/28)
	b.write("big", half+"old\n"+half)
	var texts []string
	old := "old"
	for i := range 50 {
		next := strings.Repeat("x", i+1) + "!"
		texts, old = append(texts, old, next), next
	}
	start := time.Now()
	_, err := b.call(edits("big", texts...))
	require.Nil(t, err)
	assert.Equal(t, half+old+"\n"+half, b.read("big"))
	assert.Less(t, time.Since(start), time.Minute)
}
