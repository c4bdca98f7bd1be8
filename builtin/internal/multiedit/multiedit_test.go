package multiedit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/internal/multiedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/edittest"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func newBench(t testing.TB) *edittest.Bench { return edittest.New(t, multiedit.New) }

type args = map[string]any

// edits returns parameters from alternating old and new strings.
func edits(path string, texts ...string) args {
	list := []args{}
	for i := 0; i < len(texts); i += 2 {
		list = append(list, args{"old_string": texts[i], "new_string": texts[i+1]})
	}
	return args{"file_path": path, "edits": list}
}

func TestDefinition(t *testing.T) {
	parameters := edittest.Definition(t, newBench(t).Definition(), "multi_edit")
	for _, bad := range []string{
		`{}`, `{"file_path":"f"}`, `{"edits":[]}`, `{"file_path":"f","edits":{}}`,
		`{"file_path":"f","edits":[{"old_string":"a"}]}`,
		`{"file_path":"f","edits":[],"extra":1}`,
		`{"file_path":"f","edits":[{"old_string":"a","new_string":"b","extra":1}]}`,
		`{"file_path":"f","edits":[{"old_string":"a","new_string":"b","replace_all":"yes please"}]}`,
	} {
		_, _, violations := parameters.Decode(json.RawMessage(bad))
		assert.NotEmpty(t, violations, bad)
	}
}

func TestDocumentedExample1MultipleReplacements(t *testing.T) {
	b := newBench(t)
	b.Write("config/app.json", "{\n  \"debug\": false,\n  version: \"1.0\"\n}\n")
	r, err := b.Call(edits("config/app.json", `"debug": false`, `"debug": true`, `version: "1.0"`, `version: "2.0"`))
	require.Nil(t, err)
	assert.Equal(t, edittest.Result{
		Message:            "Successfully performed multi-edit on file: config/app.json (2 total replacement(s)).",
		ActualReplacements: 2,
		Diff: "--- a/config/app.json\n+++ b/config/app.json\n@@ -1,4 +1,4 @@\n {\n-  \"debug\": false,\n-  version: \"1.0\"\n" +
			"+  \"debug\": true,\n+  version: \"2.0\"\n }\n",
	}, r)
	assert.Equal(t, "{\n  \"debug\": true,\n  version: \"2.0\"\n}\n", b.Read("config/app.json"))
}

func TestDocumentedExample2CreateAndEdit(t *testing.T) {
	b := newBench(t)
	r, err := b.Call(edits("new_project/main.go",
		"", "package main\n\nfunc main() {\n\t// Initial content\n}\n",
		"// Initial content", "// Updated content with a new line"))
	require.Nil(t, err)
	assert.Equal(t, "Successfully performed multi-edit on file: new_project/main.go (2 total replacement(s)).",
		r.Message)
	assert.Equal(t, 2, r.ActualReplacements)
	assert.Equal(t, "package main\n\nfunc main() {\n\t// Updated content with a new line\n}\n",
		b.Read("new_project/main.go"))
	assert.True(t, strings.HasPrefix(r.Diff, "--- /dev/null\n+++ b/new_project/main.go\n@@ -0,0 +1,5 @@\n"))
}

func TestSuccess(t *testing.T) {
	for name, c := range map[string]struct {
		data  string
		edits args
		want  string
		count int
	}{
		"first occurrence":    {"a a a", edits("f", "a", "b"), "b a a", 1},
		"one after the other": {"a", edits("f", "a", "bb", "bb", "c", "c", "d"), "d", 3},
		"replace all": {"a a a\nb",
			args{"file_path": "f", "edits": []args{{"old_string": "a", "new_string": "x", "replace_all": true},
				{"old_string": "b", "new_string": "y"}}}, "x x x\ny", 4},
		"replace all, false": {"a a",
			args{"file_path": "f", "edits": []args{{"old_string": "a", "new_string": "x", "replace_all": false}}},
			"x a", 1},
		"no unescaping":  {`a\nb` + "\na\nb", edits("f", `a\nb`, `\t`), `\t` + "\na\nb", 1},
		"there and back": {"a\n", edits("f", "a", "b", "b", "a"), "a\n", 2},
		"CRLF": {"a\r\nb\r\n", edits("f", "a\nb\n", "a\nx\nb\n", "x\nb", "y\nz\nb"),
			"a\r\ny\r\nz\r\nb\r\n", 2},
		"CRLF by a literal match": {"a\nb\n", edits("f", "a\n", "a\r\nx\r\n"), "a\nx\nb\n", 1},
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
			b.Write("f", c.data)
			r, err := b.Call(c.edits)
			require.Nil(t, err)
			assert.Equal(t, c.count, r.ActualReplacements)
			assert.Equal(t, c.want, b.Read("f"))
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
		"not found": {edits("f.go", "func a()", "func b()", "func z()", "x"), "MULTI_EDIT_NO_OCCURRENCE_FOUND",
			tool.NoMatch,
			"MULTI_EDIT_NO_OCCURRENCE_FOUND: edit 1 (old_string: 'func z()') not found. Rolling back."},
		"found before the edits only": {edits("f.go", "a()", "b()", "a()", "c()"), "MULTI_EDIT_NO_OCCURRENCE_FOUND",
			tool.NoMatch,
			"MULTI_EDIT_NO_OCCURRENCE_FOUND: edit 1 (old_string: 'a()') not found. Rolling back."},
		"all, not found": {args{"file_path": "f.go",
			"edits": []args{{"old_string": "zz", "new_string": "y", "replace_all": true}}},
			"MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"MULTI_EDIT_NO_OCCURRENCE_FOUND: edit 0 (old_string: 'zz') not found. Rolling back."},
		"whitespace": {edits("f.go", "    return 1", "x"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"Rolling back.\nThese lines differ from it in whitespace only (· is a space, → a tab, ␍ a carriage return):\n  4: →return·1"},
		"a long old_string": {edits("f.go", strings.Repeat("é", 400), "x"), "MULTI_EDIT_NO_OCCURRENCE_FOUND",
			tool.NoMatch, "[100 more characters]') not found. Rolling back."},
		"identical": {edits("f.go", "return", "x", "1", "1"), "EDIT_OLD_NEW_IDENTICAL", tool.NoChange,
			"EDIT_OLD_NEW_IDENTICAL: edit 1: old_string and new_string are identical. Rolling back. (f.go)"},
		"identical, creating": {edits("new", "", ""), "EDIT_OLD_NEW_IDENTICAL", tool.NoChange, "edit 0"},
		"no edits":            {edits("f.go"), "MULTI_EDIT_NO_EDITS", tool.InvalidArgument, "(f.go)"},
		"empty old_string later": {edits("f.go", "a", "b", "", "c"), "MULTI_EDIT_EMPTY_OLD_STRING",
			tool.InvalidArgument, "edit 1"},
		"existing": {edits("f.go", "", "x"), "ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists,
			"(f.go)"},
		"existing directory": {edits("dir", "", "x"), "ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists,
			"(dir)"},
		"creating, then no match": {edits("new/f", "", "x", "y", "z"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"edit 1 (old_string: 'y')"},
		"missing file": {edits("no/such", "a", "b"), "EDIT_FILE_NOT_FOUND", tool.NotFound, "(no/such)"},
		"empty path": {edits("", "a", "b"), "EDIT_INVALID_PATH", tool.InvalidArgument,
			"the path is empty"},
		"empty file":     {edits("empty", "a", "b"), "MULTI_EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch, "edit 0"},
		"directory":      {edits("dir", "a", "b"), "EDIT_FILE_READ_ERROR", tool.IsDirectory, "(dir)"},
		"binary":         {edits("binary", "a", "b"), "EDIT_FILE_READ_ERROR", tool.BinaryFile, "(binary)"},
		"not in Latin-1": {edits("latin1", "é", "€"), "EDIT_FILE_WRITE_ERROR", tool.Unsupported, "edit 0"},
		"outside": {edits("../outside.txt", "secret", "b"), "EDIT_INVALID_PATH",
			tool.PathOutsideWorkspace, "(../outside.txt)"},
		"outside, absolute": {edits("/etc/passwd", "root", "b"), "EDIT_INVALID_PATH", tool.PathOutsideWorkspace,
			"(/etc/passwd)"},
		"symlink to outside": {edits("link", "secret", "b"), "EDIT_INVALID_PATH", tool.PathOutsideWorkspace,
			"(link)"},
		"protected": {edits(".git/config", "a", "b"), "EDIT_FILE_WRITE_ERROR", tool.PermissionDenied,
			"(.git/config)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Fails(c.params, c.contract, c.code, c.message)
			assert.NoDirExists(t, b.Path("new"))
		})
	}
}

func TestThereAndBackWritesNothing(t *testing.T) {
	b := newBench(t)
	b.Write("f", "a\n")
	before := b.Snapshot()
	r, err := b.Call(edits("f", "a", "b", "b", "a"))
	require.Nil(t, err)
	assert.Empty(t, r.Diff)
	assert.Equal(t, before, b.Snapshot())
}

func TestAbsolutePathModeAndSymlink(t *testing.T) {
	b := newBench(t)
	b.KeepsModeAndSymlink(edits(b.Path("link"), "a", "b"))
}

func TestLargeFileAndManyEdits(t *testing.T) {
	testneed.NotShort(t, "replays generated histories for seconds")
	b := newBench(t)
	half := strings.Repeat("a line of text that repeats\n", 5<<20/28)
	b.Write("big", half+"old\n"+half)
	var texts []string
	old := "old"
	for i := range 50 {
		next := strings.Repeat("x", i+1) + "!"
		texts, old = append(texts, old, next), next
	}
	start := time.Now()
	_, err := b.Call(edits("big", texts...))
	require.Nil(t, err)
	assert.Equal(t, half+old+"\n"+half, b.Read("big"))
	assert.Less(t, time.Since(start), time.Minute)
}
