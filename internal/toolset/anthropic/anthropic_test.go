package anthropic_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/handstest"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/anthropic"
)

type cases = []handstest.Case

// The cases of bash, read, write, edit, glob and grep are the tests of the agent
// toolset of anthropic-sdk-go 1.84.0, as far as they concern tools.
func TestBash(t *testing.T) {
	testneed.Program(t, "bash")
	b, sleep := handstest.New(t, anthropic.New), string(testproc.Sleep(t))
	b.Check(cases{
		{Tool: "bash", Params: `{"command":"export FOO=bar; echo set"}`, Text: "set\n"},
		{Tool: "bash", Params: `{"command":"echo $FOO"}`, Text: "bar\n"},
		{Tool: "bash", Params: `{"command":"cd /tmp && pwd"}`, Text: "/tmp\n"},
		{Tool: "bash", Params: `{"command":"pwd"}`, Text: "/tmp\n"},
		{Tool: "bash", Params: `{"restart":true,"command":"echo [$FOO]; pwd"}`, Text: "[]\n{{DIR}}\n"},
		{Tool: "bash", Params: `{"restart":true}`, Text: "bash session restarted"},
		{Tool: "bash", Params: `{"command":"(exit 7)"}`, Text: "\nexit code: 7", Fails: true},
		{Tool: "bash", Params: `{"command":"echo x; false"}`, Text: "x\nexit code: 1", Fails: true},
		{Tool: "bash", Params: `{}`, Has: []string{"command is required"}, Fails: true},
		{Tool: "bash", Params: `{"command":"echo before; ` + sleep + `","timeout_ms":{{LIMIT}}}`, Fails: true,
			Has: []string{"before", "[timed out]", "session restarted after timeout"}},
		{Tool: "bash", Params: `{"command":"echo after"}`, Text: "after\n"},
		{Name: "no input", Tool: "bash", Params: `{"command":"cat; echo done"}`, Text: "done\n"},
		{Tool: "bash", Params: `{"command":"exit 3"}`, Has: []string{"bash session terminated"}, Fails: true},
		{Tool: "bash", Params: `{"command":"echo again"}`, Text: "again\n"},
		{Name: "one that looks like an end", Tool: "bash", Params: `{"command":"printf '\\nABC:0\\n'; (exit 4)"}`, Fails: true,
			Has: []string{"ABC:0", "exit code: 4"}},
	})
	r := b.Call(t.Context(), "bash", `{"command":"seq 1 200000"}`)
	require.Nil(t, r.Failed)
	assert.LessOrEqual(t, len(r.Text()), 100<<10+20)
	assert.True(t, strings.HasPrefix(r.Text(), "[output truncated]\n"))
	assert.True(t, strings.HasSuffix(r.Text(), "\n200000\n"))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r = b.Call(ctx, "bash", `{"command":"echo before; `+sleep+`","timeout_ms":30000}`)
	require.NotNil(t, r.Failed)
	assert.Equal(t, "after\n", b.Call(t.Context(), "bash", `{"command":"echo after"}`).Text())
}

func TestFiles(t *testing.T) {
	b := handstest.New(t, anthropic.New, "a.txt", "line1\nline2\nline3", "crlf", "a\r\nb\rc\r\n", "x", "x\nx\n",
		"u", "alpha\nbeta\ngamma", "big", strings.Repeat("0123456789abcde\n", 20000), "in/f", "deep\n")
	testneed.Symlink(t, "in/f", b.Path("link"))
	testneed.Symlink(t, "missing/target", b.Path("dangling"))
	testneed.Symlink(t, "loop", b.Path("loop"))
	testneed.Symlink(t, os.TempDir(), b.Path("out"))
	b.Check(cases{
		{Tool: "read", Params: `{"file_path":"a.txt"}`, Text: "line1\nline2\nline3"},
		{Tool: "read", Params: `{"file_path":"{{DIR}}/a.txt"}`, Text: "line1\nline2\nline3"},
		{Tool: "read", Params: `{"file_path":"a.txt","view_range":[2,2]}`, Text: "line2"},
		{Tool: "read", Params: `{"file_path":"missing.txt"}`, Has: []string{"no such file or directory"}, Fails: true},
		{Tool: "read", Params: `{"file_path":""}`, Has: []string{"file_path is required"}, Fails: true},
		{Tool: "read", Params: `{"file_path":"../outside.txt"}`, Has: []string{"outside"}, Fails: true},
		{Tool: "read", Params: `{"file_path":"out/x"}`, Has: []string{"outside"}, Fails: true},
		{Tool: "read", Params: `{"file_path":"a.txt","view_range":[2]}`, Has: []string{"must be"}, Fails: true},
		{Tool: "read", Params: `{"file_path":"a.txt","view_range":[3,1]}`, Text: ""},
		{Tool: "read", Params: `{"file_path":"a.txt","view_range":[]}`, Text: "line1\nline2\nline3"},
		{Tool: "read", Params: `{"file_path":"a.txt","view_range":[2,0]}`, Text: "line2\nline3"},
		{Tool: "read", Params: `{"file_path":"a.txt","view_range":[10,12]}`, Text: ""},
		{Tool: "read", Params: `{"file_path":"crlf"}`, Text: "a\r\nb\rc\r\n"},
		{Tool: "read", Params: `{"file_path":"crlf","view_range":[1,1]}`, Text: "a\r"},
		{Tool: "read", Params: `{"file_path":"link"}`, Text: "deep\n"},
		{Tool: "read", Params: `{"file_path":"loop"}`, Text: "*", Fails: true},
		{Tool: "read", Params: `{"file_path":"in"}`, Has: []string{"is not a regular file"}, Fails: true},
		{Tool: "read", Params: `{"file_path":"big"}`, Has: []string{"exceeds 262144-byte limit"}, Fails: true},
		{Tool: "read", Params: `{"file_path":"big","view_range":[19999,20000]}`, Text: "0123456789abcde\n0123456789abcde"},
		{Tool: "read", Params: `{"file_path":"big","view_range":[1,20000]}`, Has: []string{"exceeds"}, Fails: true},
		{Tool: "write", Params: `{"file_path":"d/e/new","content":"hi"}`, Text: "wrote 2 bytes to d/e/new",
			After: map[string]string{"d/e/new": "hi"}},
		{Tool: "write", Params: `{"file_path":"d/e/new","content":"ho!"}`, Text: "*", After: map[string]string{"d/e/new": "ho!"}},
		{Tool: "write", Params: `{"file_path":"../new","content":"hi"}`, Has: []string{"outside"}, Fails: true},
		{Tool: "write", Params: `{"file_path":"out/new","content":"hi"}`, Has: []string{"outside"}, Fails: true},
		{Tool: "write", Params: `{"file_path":"loop","content":"hi"}`, Text: "*", Fails: true},
		{Tool: "write", Params: `{"file_path":"","content":"hi"}`, Has: []string{"file_path is required"}, Fails: true},
		{Tool: "write", Params: `{"file_path":"agent.hcl","content":"hi"}`, Text: "*", Fails: true,
			After: map[string]string{"agent.hcl": "<none>"}},
		{Tool: "edit", Params: `{"file_path":"u","old_string":"beta","new_string":"BETA"}`, Text: "edited u (1 replacement(s))",
			After: map[string]string{"u": "alpha\nBETA\ngamma"}},
		{Tool: "edit", Params: `{"file_path":"x","old_string":"x","new_string":"y"}`, Has: []string{"appears 2 times"}, Fails: true},
		{Tool: "edit", Params: `{"file_path":"x","old_string":"x","new_string":"y","replace_all":true}`, Text: "*",
			After: map[string]string{"x": "y\ny\n"}},
		{Tool: "edit", Params: `{"file_path":"x","old_string":"zz","new_string":"y"}`, Has: []string{"not found in x"}, Fails: true},
		{Tool: "edit", Params: `{"file_path":"x","old_string":"","new_string":"y"}`, Has: []string{"is required"}, Fails: true},
		{Tool: "edit", Params: `{"file_path":"crlf","old_string":"a\r\n","new_string":"A\r\n"}`, Text: "*",
			After: map[string]string{"crlf": "A\r\nb\rc\r\n"}},
		{Tool: "edit", Params: `{"file_path":"in","old_string":"a","new_string":"y"}`, Has: []string{"regular"}, Fails: true},
		{Tool: "edit", Params: `{"file_path":"big","old_string":"a","new_string":"y"}`, Has: []string{"exceeds"}, Fails: true},
		{Tool: "edit", Params: `{"file_path":"none","old_string":"a","new_string":"y"}`, Has: []string{"no such file"}, Fails: true},
		{Tool: "edit", Params: `{"file_path":"out/x","old_string":"a","new_string":"y"}`, Has: []string{"outside"}, Fails: true},
	})
}

func TestSearch(t *testing.T) {
	b := handstest.New(t, anthropic.New, "a.go", "x", "b.go", "x", "sub/c.go", "x", "d.txt",
		"hello world\nfoo bar\nhello again", "e.txt", "nothing here")
	now := time.Now()
	for name, age := range map[string]time.Duration{"a.go": 2 * time.Hour, "sub/c.go": time.Hour, "b.go": 0} {
		require.NoError(t, os.Chtimes(b.Path(name), now.Add(-age), now.Add(-age)))
	}
	outside := t.TempDir()
	testfile.Write(t, outside+"/secret.txt", "NEEDLE")
	testneed.Symlink(t, outside+"/secret.txt", b.Path("leak"))
	testneed.Symlink(t, "loop", b.Path("loop"))
	b.Check(cases{
		{Tool: "glob", Params: `{"pattern":"**/*.go"}`, Text: "{{DIR}}/b.go\n{{DIR}}/sub/c.go\n{{DIR}}/a.go"},
		{Tool: "glob", Params: `{"pattern":"*.nomatch"}`, Text: "no matches"},
		{Tool: "glob", Params: `{"pattern":"*.go","path":"sub"}`, Text: "{{DIR}}/sub/c.go"},
		{Tool: "glob", Params: `{"pattern":""}`, Has: []string{"pattern is required"}, Fails: true},
		{Tool: "glob", Params: `{"pattern":"/etc/*"}`, Has: []string{"pass a relative pattern"}, Fails: true},
		{Tool: "glob", Params: `{"pattern":"../*.go"}`, Has: []string{"must not contain"}, Fails: true},
		{Tool: "glob", Params: `{"pattern":"**/../*.go"}`, Has: []string{"must not contain"}, Fails: true},
		{Tool: "glob", Params: `{"pattern":"*","path":"` + outside + `"}`, Has: []string{"outside"}, Fails: true},
		{Tool: "grep", Params: `{"pattern":"hello"}`, Has: []string{"d.txt:1:hello world", "d.txt:3:"}, Hasnt: []string{"e.txt"}},
		{Tool: "grep", Params: `{"pattern":"zzz_absent"}`, Text: "no matches"},
		{Tool: "grep", Params: `{"pattern":""}`, Has: []string{"pattern is required"}, Fails: true},
		{Tool: "grep", Params: `{"pattern":"NEEDLE"}`, Text: "no matches"},
		{Tool: "grep", Params: `{"pattern":"x","path":"` + outside + `"}`, Has: []string{"outside"}, Fails: true},
	})
}

func TestEditor(t *testing.T) {
	b := handstest.New(t, anthropic.New, "p.py", "def f():\n    pass\n", "two", "x\nx\n", "d/e/f/g", "", "d/.h", "",
		"pic.png", "\x89PNG\r\n\x1a\n")
	const name = "str_replace_based_edit_tool"
	b.Check(cases{
		{Tool: name, Params: `{"command":"view","path":"p.py"}`, Text: "1: def f():\n2:     pass"},
		{Tool: name, Params: `{"command":"view","path":"p.py","view_range":[2,-1]}`, Text: "2:     pass"},
		{Tool: name, Params: `{"command":"view","path":"p.py","view_range":[3,4]}`, Has: []string{"Invalid view_range"}, Fails: true},
		{Tool: name, Params: `{"command":"view","path":"d"}`, Text: "d/e/\nd/e/f/"},
		{Tool: name, Params: `{"command":"view","path":"none"}`, Has: []string{"Error: File not found"}, Fails: true},
		{Tool: name, Params: `{"command":"create","path":"n/new","file_text":"1\n"}`, Text: "Successfully created file n/new",
			After: map[string]string{"n/new": "1\n"}},
		{Tool: name, Params: `{"command":"str_replace","path":"p.py","old_str":"pass","new_str":"return"}`,
			Text:  "Successfully replaced text at exactly one location.",
			After: map[string]string{"p.py": "def f():\n    return\n"}},
		{Tool: name, Params: `{"command":"str_replace","path":"two","old_str":"x","new_str":"y"}`, Fails: true,
			Has: []string{"Error: Found 2 matches for replacement text.", "lines 1, 2"}},
		{Tool: name, Params: `{"command":"str_replace","path":"two","old_str":"z","new_str":"y"}`, Fails: true,
			Has: []string{"Error: No match found for replacement."}},
		{Tool: name, Params: `{"command":"insert","path":"two","insert_line":0,"insert_text":"0"}`, Text: "*",
			After: map[string]string{"two": "0\nx\nx\n"}},
		{Tool: name, Params: `{"command":"insert","path":"two","insert_line":3,"insert_text":"3\n"}`, Text: "*",
			After: map[string]string{"two": "0\nx\nx\n3\n"}},
		{Tool: name, Params: `{"command":"insert","path":"two","insert_line":9,"insert_text":"3\n"}`, Fails: true,
			Has: []string{"[0, 4]"}},
		{Tool: name, Params: `{"command":"insert","path":"two","insert_line":4,"new_str":"4"}`, Text: "*",
			After: map[string]string{"two": "0\nx\nx\n3\n4\n"}},
		{Tool: name, Params: `{"command":"str_replace","path":"two","old_str":"4\n"}`, Text: "*",
			After: map[string]string{"two": "0\nx\nx\n3\n"}},
		{Tool: name, Params: `{"command":"undo_edit","path":"two"}`, Text: "*", Fails: true},
		{Tool: name, Params: `{"command":"create","path":"../x","file_text":"1"}`, Text: "*", Fails: true},
		{Tool: name, Params: `{"command":"create","path":"agent.hcl","file_text":"1"}`, Fails: true,
			Has: []string{"Error: Permission denied. Cannot write to file."}},
	})
	r := b.Call(t.Context(), name, `{"command":"view","path":"pic.png"}`)
	require.Len(t, r.Contents, 1)
	assert.Equal(t, tool.KindImage, r.Contents[0].Kind)
	assert.Equal(t, "image/png", r.Contents[0].MIMEType)
}

func TestEndingsAndEncodings(t *testing.T) {
	const editor = "str_replace_based_edit_tool"
	b := handstest.New(t, anthropic.New, "crlf", "a\r\nb\r\n", "utf16", "\xff\xfea\x00\n\x00", "latin", "caf\xe9\n",
		"bom", "\xef\xbb\xbfa\n", "bin", "a\x00b\n", "near", "func main() {\n\treturn 1\n}\n")
	b.Check(cases{
		{Tool: "edit", Params: `{"file_path":"crlf","old_string":"a\nb","new_string":"c\nd"}`, Text: "edited crlf (1 replacement(s))",
			After: map[string]string{"crlf": "c\r\nd\r\n"}},
		{Tool: editor, Params: `{"command":"str_replace","path":"crlf","old_str":"c\nd","new_str":"e\nf"}`, Text: "*",
			After: map[string]string{"crlf": "e\r\nf\r\n"}},
		{Tool: editor, Params: `{"command":"insert","path":"crlf","insert_line":1,"insert_text":"x"}`, Text: "*",
			After: map[string]string{"crlf": "e\r\nx\r\nf\r\n"}},
		{Tool: editor, Params: `{"command":"insert","path":"bom","insert_line":0,"insert_text":"x"}`, Text: "*",
			After: map[string]string{"bom": "\xef\xbb\xbfx\na\n"}},
		{Tool: "edit", Params: `{"file_path":"utf16","old_string":"a","new_string":"é"}`, Text: "*",
			After: map[string]string{"utf16": "\xff\xfe\xe9\x00\n\x00"}},
		{Tool: "edit", Params: `{"file_path":"latin","old_string":"é","new_string":"ü"}`, Text: "*",
			After: map[string]string{"latin": "caf\xfc\n"}},
		{Tool: "read", Params: `{"file_path":"utf16"}`, Text: "é\n"},
		{Tool: "read", Params: `{"file_path":"latin"}`, Text: "cafü\n"},
		{Tool: editor, Params: `{"command":"view","path":"utf16"}`, Text: "1: é"},
		{Tool: editor, Params: `{"command":"insert","path":"latin","insert_line":0,"insert_text":"€"}`, Fails: true,
			Has: []string{"lacks characters of the new text"}, After: map[string]string{"latin": "caf\xfc\n"}},
		{Tool: "edit", Params: `{"file_path":"bin","old_string":"b","new_string":"c"}`, Has: []string{"binary"}, Fails: true},
		{Tool: editor, Params: `{"command":"insert","path":"bin","insert_line":0,"insert_text":"c"}`, Has: []string{"binary"}, Fails: true,
			After: map[string]string{"bin": "a\x00b\n"}},
		{Tool: "edit", Params: `{"file_path":"near","old_string":"    return 1","new_string":"x"}`, Fails: true,
			Has: []string{"edit: old_string not found in near\n", "whitespace only", "\n  2: →return·1\n"}},
		{Tool: editor, Params: `{"command":"str_replace","path":"near","old_str":"  return 1"}`, Fails: true,
			Has: []string{"Error: No match found for replacement. Please check your text and try again.\n", "  2: →return·1\n"}},
		{Tool: "memory", Params: `{"command":"create","path":"/memories/f","file_text":"a\r\nb\r\n"}`, Text: "*"},
		{Tool: "memory", Params: `{"command":"str_replace","path":"/memories/f","old_str":"a\nb","new_str":"c\nd"}`, Text: "*"},
		{Tool: "memory", Params: `{"command":"insert","path":"/memories/f","insert_line":1,"insert_text":"x"}`, Text: "*",
			After: map[string]string{"../" + filepath.Base(b.Root) + "-state/memories/f": "c\r\nx\r\nd\r\n"}},
	})
}

func TestLargeFiles(t *testing.T) {
	const editor = "str_replace_based_edit_tool"
	big := strings.Repeat(strings.Repeat("x", 99)+"\n", 20_000)
	b := handstest.New(t, anthropic.New, "big", big, "one", strings.Repeat("x", 1<<20+7)+"\nnext\n", "empty", "")
	b.Check(cases{
		{Tool: editor, Params: `{"command":"view","path":"big","view_range":[19999,20001]}`,
			Text: "19999: " + big[:99] + "\n20000: " + big[:99]},
		{Tool: editor, Params: `{"command":"view","path":"big","view_range":[0,1]}`, Has: []string{"has 20000 lines"}, Fails: true},
		{Tool: editor, Params: `{"command":"view","path":"big","view_range":[20001,-1]}`, Has: []string{"has 20000 lines"}, Fails: true},
		{Tool: editor, Params: `{"command":"view","path":"big","view_range":[2,1]}`, Has: []string{"has 20000 lines"}, Fails: true},
		{Tool: editor, Params: `{"command":"view","path":"big","view_range":[1,15000]}`,
			Has: []string{" more lines follow; continue with view_range [", ", 15000]]"}},
		{Tool: editor, Params: `{"command":"view","path":"one"}`, Has: []string{"x [... 7 more bytes in this line]\n" +
			"[1 more lines follow; continue with view_range [2, -1]]"}},
		{Tool: editor, Params: `{"command":"view","path":"empty"}`, Text: "1: "},
	})
	var shown []string
	for at := "1"; at != ""; {
		text := b.Call(t.Context(), editor, `{"command":"view","path":"big","view_range":[`+at+`,-1]}`).Text()
		page, note, _ := strings.Cut(text, "\n[")
		_, at, _ = strings.Cut(note, "view_range [")
		at, _, _ = strings.Cut(at, ",")
		shown = append(shown, page)
	}
	assert.Len(t, shown, 3)
	assert.Equal(t, big, regexp.MustCompile(`(?m)^\d+: `).ReplaceAllString(strings.Join(shown, "\n")+"\n", ""))
}

func TestGlobSaysWhatIsLeftOut(t *testing.T) {
	b := handstest.New(t, anthropic.New)
	for i := range 203 {
		testfile.Write(t, b.Path(fmt.Sprintf("f%d", i)), "")
	}
	b.Check(cases{
		{Tool: "glob", Params: `{"pattern":"f*"}`, Has: []string{"\n[3 more paths match; name them by a narrower pattern or path]"}},
		{Tool: "glob", Params: `{"pattern":"f1?"}`, Hasnt: []string{"more paths"}, Text: "*"},
	})
}

// TestMissingParameters takes the text from the editor of Anthropic's quickstarts.
func TestMissingParameters(t *testing.T) {
	b := handstest.New(t, anthropic.New, "f", "precious\n")
	b.Check(cases{{Tool: "memory", Params: `{"command":"create","path":"/memories/f","file_text":"precious\n"}`, Text: "*"}})
	for _, c := range []struct{ command, params, missing string }{
		{"create", ``, "file_text"},
		{"str_replace", `,"new_str":"x"`, "old_str"},
		{"insert", `,"insert_text":"x"`, "insert_line"},
		{"insert", `,"insert_line":1`, "insert_text"},
	} {
		text := "Parameter `" + c.missing + "` is required for command: " + c.command
		rest := `{"command":"` + c.command + `"` + c.params + `,"path":`
		b.Check(cases{
			{Tool: "str_replace_based_edit_tool", Params: rest + `"f"}`, Has: []string{text}, Fails: true,
				After: map[string]string{"f": "precious\n"}},
			{Tool: "memory", Params: rest + `"/memories/f"}`, Has: []string{text}, Fails: true},
		})
	}
	b.Check(cases{
		{Tool: "memory", Params: `{"command":"create","path":"/memories/g"}`, Has: []string{"file_text"}, Fails: true},
		{Tool: "memory", Params: `{"command":"str_replace","path":"/memories/f","old_str":"precious"}`, Has: []string{"new_str"}, Fails: true},
		{Tool: "memory", Params: `{"command":"view","path":"/memories/f"}`, Has: []string{"1\tprecious"}},
	})
}

// The texts are from the memory tool of anthropic-sdk-python.
func TestMemory(t *testing.T) {
	b := handstest.New(t, anthropic.New)
	b.Check(cases{
		{Tool: "memory", Params: `{"command":"create","path":"/memories/a.md","file_text":"one\ntwo\n"}`,
			Text: "File created successfully at: /memories/a.md"},
		{Tool: "memory", Params: `{"command":"create","path":"/memories/a.md","file_text":""}`,
			Text: "File /memories/a.md already exists", Fails: true},
		{Tool: "memory", Params: `{"command":"view","path":"/memories/a.md"}`,
			Text: "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\t"},
		{Tool: "memory", Params: `{"command":"view","path":"/memories/a.md","view_range":[2,2]}`,
			Text: "Here's the content of /memories/a.md with line numbers:\n     2\ttwo"},
		{Tool: "memory", Params: `{"command":"view","path":"/memories"}`, Has: []string{
			"Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n",
			"8B\t/memories/a.md"}},
		{Tool: "memory", Params: `{"command":"view","path":"/memories/none"}`, Fails: true,
			Text: "The path /memories/none does not exist. Please provide a valid path."},
		{Tool: "memory", Params: `{"command":"str_replace","path":"/memories/a.md","old_str":"two","new_str":"2"}`,
			Has: []string{"The memory file has been edited.", "     1\tone\n     2\t2\n"}},
		{Tool: "memory", Params: `{"command":"str_replace","path":"/memories/a.md","old_str":"zz","new_str":"2"}`, Fails: true,
			Text: "No replacement was performed, old_str `zz` did not appear verbatim in /memories/a.md."},
		{Tool: "memory", Params: `{"command":"insert","path":"/memories/a.md","insert_line":1,"insert_text":"x\n"}`,
			Text: "The file /memories/a.md has been edited."},
		{Tool: "memory", Params: `{"command":"insert","path":"/memories/a.md","insert_line":7,"insert_text":"x\n"}`, Fails: true,
			Text: "Invalid `insert_line` parameter: 7. It should be within the range [0, 3]."},
		{Tool: "memory", Params: `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/d/b.md"}`,
			Text: "Successfully renamed /memories/a.md to /memories/d/b.md"},
		{Tool: "memory", Params: `{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/c"}`, Fails: true,
			Text: "The path /memories/a.md does not exist"},
		{Tool: "memory", Params: `{"command":"view","path":"/memories/d/b.md"}`, Has: []string{"1\tone\n     2\tx\n     3\t2"}},
		{Tool: "memory", Params: `{"command":"delete","path":"/memories"}`, Fails: true,
			Text: "Cannot delete the /memories directory itself"},
		{Tool: "memory", Params: `{"command":"delete","path":"/memories/d"}`, Text: "Successfully deleted /memories/d"},
		{Tool: "memory", Params: `{"command":"delete","path":"/memories/d"}`, Text: "The path /memories/d does not exist", Fails: true},
		{Tool: "memory", Params: `{"command":"view","path":"/etc/passwd"}`, Has: []string{"must start with /memories"}, Fails: true},
		{Tool: "memory", Params: `{"command":"view","path":"/memories/../../x"}`, Has: []string{"would escape"}, Fails: true},
		{Tool: "memory", Params: `{"command":"view","path":"/memories2/x"}`, Text: "*", Fails: true},
		{Tool: "memory", Params: `{"command":"create","path":"/memories/../tasks/x","file_text":""}`, Text: "*", Fails: true},
	})
}
