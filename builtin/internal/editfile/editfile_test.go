package editfile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/internal/editfile"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/edittest"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func newBench(t testing.TB, opts editfile.Options) *edittest.Bench {
	return edittest.New(t, func(ws *workspace.Workspace) tool.Tool { return editfile.New(ws, opts) })
}

type args = map[string]any

func edit(path, old, new string) args { return args{"path": path, "old_str": old, "new_str": new} }

func TestDefinition(t *testing.T) {
	for _, mode := range []string{"", editfile.Contract, editfile.Fallback, editfile.Never, "nonsense"} {
		d := newBench(t, editfile.Options{Unescape: mode}).Definition()
		edittest.Definition(t, d, "edit_file")
		var s struct {
			Properties           map[string]any
			Required             []string
			AdditionalProperties *bool
		}
		require.NoError(t, json.Unmarshal(d.Parameters, &s))
		assert.Len(t, s.Properties, 4)
		assert.Equal(t, []string{"path", "old_str", "new_str"}, s.Required)
		assert.False(t, *s.AdditionalProperties)
	}
	assert.False(t, editfile.Options{Unescape: "nonsense"}.Valid())
	assert.True(t, editfile.Options{}.Valid())
}

func TestDocumentedExample1SingleReplacement(t *testing.T) {
	b := newBench(t, editfile.Options{})
	b.Write("src/main.go", "package main\n\nfunc oldFunc() {}\n")
	r, err := b.Call(args{"path": "src/main.go", "old_str": "func oldFunc()", "new_str": "func newFunc()",
		"expected_replacements": 1})
	require.Nil(t, err)
	assert.Equal(t, edittest.Result{
		Message:            "Successfully modified file: src/main.go (1 replacement(s)).",
		ActualReplacements: 1,
		Diff: "--- a/src/main.go\n+++ b/src/main.go\n@@ -1,3 +1,3 @@\n package main\n \n" +
			"-func oldFunc() {}\n+func newFunc() {}\n",
	}, r)
	assert.Equal(t, "package main\n\nfunc newFunc() {}\n", b.Read("src/main.go"))
}

func TestDocumentedExample2FileCreation(t *testing.T) {
	b := newBench(t, editfile.Options{})
	r, err := b.Call(edit("new_feature/README.md", "", "# New Feature\n\nThis is a new feature."))
	require.Nil(t, err)
	assert.Equal(t, edittest.Result{
		Message:            "Created new file: new_feature/README.md with provided content.",
		ActualReplacements: 1,
		Diff: "--- /dev/null\n+++ b/new_feature/README.md\n@@ -0,0 +1,3 @@\n+# New Feature\n+\n" +
			"+This is a new feature.\n\\ No newline at end of file\n",
	}, r)
	assert.Equal(t, "# New Feature\n\nThis is a new feature.", b.Read("new_feature/README.md"))
}

func TestSuccess(t *testing.T) {
	for name, c := range map[string]struct {
		data, old, new string
		expected       int
		want           string
	}{
		"expected several":       {"a b a\na", "a", "x", 3, "x b x\nx"},
		"CRLF":                   {"a\r\nb\r\n", "a\nb", "a\nx\nb", 0, "a\r\nx\r\nb\r\n"},
		"mixed endings":          {"1\n2\r\n3\n", "2\n", "2\n2b\n", 0, "1\n2\r\n2b\r\n3\n"},
		"no final newline":       {"a\nb", "b", "c", 0, "a\nc"},
		"UTF-8 mark":             {"\xef\xbb\xbfa\n", "a", "b", 0, "\xef\xbb\xbfb\n"},
		"UTF-16":                 {"\xff\xfea\x00\r\x00\n\x00", "a", "ä", 0, "\xff\xfe\xe4\x00\r\x00\n\x00"},
		"Latin-1":                {"\xe9\xe8 a\n", "a", "b", 0, "\xe9\xe8 b\n"},
		"NFD":                    {"cafe\u0301 x", "x", "e\u0301\u00e9", 0, "cafe\u0301 e\u0301\u00e9"},
		"template characters":    {"x", "x", "$1 $& %d", 0, "$1 $& %d"},
		"delete a line":          {"a\nb\nc\n", "b\n", "", 0, "a\nc\n"},
		"everything":             {"a", "a", "", 0, ""},
		"tabs in an HTML entity": {"<a>\t&amp;</a>", "&amp;", "&lt;", 0, "<a>\t&lt;</a>"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, editfile.Options{})
			b.Write("f.txt", c.data)
			params := edit("f.txt", c.old, c.new)
			if c.expected > 0 {
				params["expected_replacements"] = c.expected
			}
			r, err := b.Call(params)
			require.Nil(t, err)
			assert.Equal(t, max(c.expected, 1), r.ActualReplacements)
			assert.Equal(t, c.want, b.Read("f.txt"))
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
		"missing text": {edit("f.go", "func nothing()", "x"), "EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"EDIT_NO_OCCURRENCE_FOUND: old_str does not occur in the file (f.go)"},
		"whitespace": {edit("f.go", "    return 1", "x"), "EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch,
			"\nThese lines differ from it in whitespace only (· is a space, → a tab, ␍ a carriage return):\n  4: →return·1"},
		"nearest": {edit("f.go", "retrun 1", "x"), "EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch, "\n  4: →return·1"},
		"twice": {edit("f.go", "a", "x"), "EDIT_EXPECTED_OCCURRENCE_MISMATCH", tool.NotUnique,
			"EDIT_EXPECTED_OCCURRENCE_MISMATCH: expected 1 occurrence of old_str but found 4, at lines 1 and 3 (f.go)"},
		"too few": {args{"path": "f.go", "old_str": "return", "new_str": "x", "expected_replacements": 2},
			"EDIT_EXPECTED_OCCURRENCE_MISMATCH", tool.NotUnique,
			"EDIT_EXPECTED_OCCURRENCE_MISMATCH: expected 2 occurrences of old_str but found 1, at line 4 (f.go)"},
		"expected, but missing": {args{"path": "f.go", "old_str": "@", "new_str": "x", "expected_replacements": 2},
			"EDIT_NO_OCCURRENCE_FOUND", tool.NoMatch, "(f.go)"},
		"identical": {edit("f.go", "return", "return"), "EDIT_NO_CHANGE", tool.NoChange,
			"EDIT_NO_CHANGE: old_str and new_str are the same, nothing would change (f.go)"},
		"identical unescaped": {edit("f.go", `\treturn`, "\treturn"), "EDIT_NO_CHANGE", tool.NoChange, "(f.go)"},
		"identical unescaped, where a raw pair would be found": {edit("f.go", "func", `\x66unc`), "EDIT_NO_CHANGE",
			tool.NoChange, "(f.go)"},
		"no change but endings": {edit("crlf", "a\n", "a\r\n"), "EDIT_NO_CHANGE",
			tool.NoChange, "(crlf)"},
		"existing": {edit("f.go", "", "x"),
			"ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists, "(f.go)"},
		"existing, both empty": {edit("f.go", "", ""),
			"ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists, "(f.go)"},
		"existing directory": {edit("dir", "", "x"),
			"ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists, "(dir)"},
		"existing symlink": {edit("dangling", "", "x"),
			"ATTEMPT_TO_CREATE_EXISTING_FILE", tool.AlreadyExists, "(dangling)"},
		"missing file": {edit("no/such.go", "a", "b"), "EDIT_FILE_NOT_FOUND",
			tool.NotFound, "EDIT_FILE_NOT_FOUND: the file does not exist (no/such.go)"},
		"empty path": {edit("", "a", "b"), "EDIT_INVALID_PATH",
			tool.InvalidArgument, "EDIT_INVALID_PATH: the path is empty ()"},
		"empty file": {edit("empty", "a", "b"), "EDIT_NO_OCCURRENCE_FOUND",
			tool.NoMatch, "(empty)"},
		"directory": {edit("dir", "a", "b"), "EDIT_FILE_READ_ERROR",
			tool.IsDirectory, "EDIT_FILE_READ_ERROR: it is a directory (dir)"},
		"binary": {edit("binary", "a", "b"), "EDIT_FILE_READ_ERROR",
			tool.BinaryFile, "(binary)"},
		"below a file": {edit("f.go/x", "", "b"), "EDIT_FILE_READ_ERROR",
			tool.NotADirectory, "(f.go/x)"},
		"outside": {edit("../outside.txt", "secret", "b"),
			"EDIT_INVALID_PATH", tool.PathOutsideWorkspace,
			"EDIT_INVALID_PATH: the path is outside the workspace (../outside.txt)"},
		"outside, new": {edit("../new.txt", "", "b"), "EDIT_INVALID_PATH",
			tool.PathOutsideWorkspace, "(../new.txt)"},
		"outside, absolute": {edit("/etc/passwd", "root", "b"), "EDIT_INVALID_PATH",
			tool.PathOutsideWorkspace, "(/etc/passwd)"},
		"symlink to outside": {edit("link", "secret", "b"), "EDIT_INVALID_PATH",
			tool.PathOutsideWorkspace, "(link)"},
		"below such a symlink": {edit("dirlink/new.txt", "", "b"), "EDIT_INVALID_PATH",
			tool.PathOutsideWorkspace, "(dirlink/new.txt)"},
		"protected": {edit(".git/config", "a", "b"), "EDIT_FILE_WRITE_ERROR",
			tool.PermissionDenied, "(.git/config)"},
		"protected, new": {edit(".git/hooks/x", "", "b"), "EDIT_FILE_WRITE_ERROR",
			tool.PermissionDenied, "(.git/hooks/x)"},
		"NUL in path": {edit("a\x00b", "", "b"), "EDIT_INVALID_PATH",
			tool.InvalidArgument, "NUL"},
	} {
		t.Run(name, func(t *testing.T) {
			newBench(t, editfile.Options{}).Fails(c.params, c.contract, c.code, c.message)
		})
	}
}

func TestUnescape(t *testing.T) {
	for name, c := range map[string]struct {
		mode, data, old, new, want string
		noted                      bool
	}{
		"contract":                        {"contract", "a\n\tb\n", `a\n\tb`, `c\td`, "c\td\n", false},
		"contract, quotes":                {"contract", `say "hi"`, `say \"hi\"`, `say \"\u00e9\"`, `say "é"`, false},
		"contract, default":               {"", "a\tb", `a\tb`, `x\\y`, `x\y`, false},
		"contract, each string by itself": {"contract", "a\tb", `a\tb`, `say "\n"`, `say "\n"`, false},
		"contract, raw newline":           {"contract", "a\nb\\n", "a\nb\\n", "x", "x", false},
		"contract, unknown escape":        {"contract", `a\d`, `a\d`, `a\w\n`, `a\w\n`, false},
		"contract, single quote escape":   {"contract", `a\'b`, `a\'b`, `x`, `x`, false},
		"contract, raw pair where it fits": {"contract", `printf("a\n")` + "\n", `a\n`, `b\n\t`,
			`printf("b\n\t")` + "\n", true},
		"contract, tab by escape": {"contract", `x\ty`, `\t`, "\t", "x\ty", true},
		"contract, raw pair before endings made alike": {"contract", "a\nb\n" + `s = "a\r\nb"` + "\n", `a\r\nb`,
			`c\r\nd`,
			"a\nb\n" + `s = "c\r\nd"` + "\n", true},
		"contract, endings made alike": {"contract", "a\nb\n", `a\r\nb`, `c\r\nd`, "c\nd\n", false},
		"fallback, unescaped before endings made alike": {"fallback", "a\rb\n" + "a\r\nb\r\n", `a\rb`, `x`,
			"x\na\r\nb\r\n", true},
		"fallback prefers raw": {"fallback", `a\nb` + "\na\nb", `a\nb`, `x\ny`,
			`x\ny` + "\na\nb", false},
		"fallback unescapes": {"fallback", "a\nb", `a\nb`, `x\ty`, "x\ty", true},
		"never": {"never", `a\nb` + "\na\nb", `a\nb`, `x\ty`, `x\ty` + "\na\nb",
			false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, editfile.Options{Unescape: c.mode})
			b.Write("f", c.data)
			r, err := b.Call(edit("f", c.old, c.new))
			require.Nil(t, err)
			assert.Equal(t, c.want, b.Read("f"))
			const plain = "Successfully modified file: f (1 replacement(s))."
			assert.True(t, strings.HasPrefix(r.Message, plain))
			assert.Equal(t, c.noted, r.Message != plain, r.Message)
		})
	}
}

func TestUnescapeNeverFindsNothing(t *testing.T) {
	b := newBench(t, editfile.Options{Unescape: editfile.Never})
	b.Write("f", "a\tb")
	_, err := b.Call(edit("f", `a\tb`, "x"))
	require.NotNil(t, err)
	assert.Equal(t, tool.NoMatch, err.Code)
}

func TestUnescapeOfNewFiles(t *testing.T) {
	for mode, want := range map[string]string{editfile.Contract: "a\tb\n", editfile.Fallback: `a\tb\n`,
		editfile.Never: `a\tb\n`} {
		b := newBench(t, editfile.Options{Unescape: mode})
		_, err := b.Call(edit("f", "", `a\tb\n`))
		require.Nil(t, err)
		assert.Equal(t, want, b.Read("f"), mode)
	}
}

func TestEmptyFileIsCreated(t *testing.T) {
	b := newBench(t, editfile.Options{})
	r, err := b.Call(edit("f", "", ""))
	require.Nil(t, err)
	assert.Equal(t, "", b.Read("f"))
	assert.Equal(t, "Created new file: f with provided content.", r.Message)
}

func TestAbsolutePathInside(t *testing.T) {
	b := newBench(t, editfile.Options{})
	b.Write("d/f", "a")
	r, err := b.Call(edit(b.Path("d/f"), "a", "b"))
	require.Nil(t, err)
	assert.Equal(t, "b", b.Read("d/f"))
	assert.Contains(t, r.Diff, "--- a/d/f\n+++ b/d/f\n")
}

func TestModeAndSymlinkStay(t *testing.T) {
	newBench(t, editfile.Options{}).KeepsModeAndSymlink(edit("link", "a", "b"))
}

func TestLargeFile(t *testing.T) {
	testneed.NotShort(t, "replays generated histories for seconds")
	b := newBench(t, editfile.Options{})
	half := strings.Repeat("a line of text that repeats\n", 5<<20/28)
	b.Write("big", half+"the one\n"+half)
	start := time.Now()
	r, err := b.Call(edit("big", "the one", "the other"))
	require.Nil(t, err)
	assert.Equal(t, half+"the other\n"+half, b.Read("big"))
	assert.Less(t, len(r.Diff), 1000)
	_, err = b.Call(edit("big", "teh other", "x"))
	require.NotNil(t, err)
	assert.Contains(t, err.Message, "the·other")
	assert.Less(t, time.Since(start), time.Minute)
}
