package claude_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/handstest"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/claude"
	"github.com/toolhost/toolhost/internal/toolset/hands"
)

type cases = []handstest.Case

func TestBash(t *testing.T) {
	testneed.Program(t, "bash")
	b := handstest.New(t, claude.New, "d/f", "x")
	b.Check(cases{
		{Tool: "Bash", Params: `{"command":"cd d && V=1; echo hi"}`, Text: "hi"},
		{Tool: "Bash", Params: `{"command":"pwd; echo $V","description":"look"}`, Text: "{{DIR}}/d\n1"},
		{Tool: "Bash", Params: `{"command":"echo out; echo err >&2; (exit 3)"}`, Text: "Exit code 3\nout\nerr", Fails: true},
		{Tool: "Bash", Params: `{"command":"echo a; ` + string(testproc.Sleep(t)) + `","timeout":{{LIMIT}}.0}`,
			Has: []string{"Command timed out", "a"}, Fails: true},
		{Tool: "Bash", Params: `{"command":"exit 1"}`, Text: "*", Fails: true},
		{Tool: "Bash", Params: `{"command":"pwd"}`, Text: "{{DIR}}"},
		{Tool: "Bash", Params: `{"command":" "}`, Text: "*", Fails: true},
		{Tool: "Bash", Params: `{"command":"id","dangerouslyDisableSandbox":true}`, Fails: true,
			Has: []string{"no command runs outside the sandbox"}},
		{Tool: "Bash", Params: `{"command":"seq 1 20000"}`, Has: []string{"1\n2\n", "lines truncated] ...", "\n20000"}},
	})
}

func TestBackground(t *testing.T) {
	testneed.Program(t, "bash")
	b := handstest.New(t, claude.New)
	start := func(command string) string {
		r := b.Call(t.Context(), "Bash", map[string]any{"command": command, "run_in_background": true})
		found := regexp.MustCompile(`^Command running in background with ID: (\w+)$`).FindStringSubmatch(r.Text())
		require.NotNil(t, found, r.Text())
		return found[1]
	}
	ended, running := start("echo done; exit 4"), start("echo begun; "+string(testproc.Sleep(t)))
	b.Check(cases{
		{Tool: "TaskOutput", Params: `{"task_id":"` + ended + `","block":true,"timeout":60000}`, Text: "<retrieval_status>success" +
			"</retrieval_status>\n\n<task_id>" + ended + "</task_id>\n\n<task_type>local_bash</task_type>\n\n<status>completed" +
			"</status>\n\n<exit_code>4</exit_code>\n\n<output>\ndone\n</output>"},
		{Tool: "TaskOutput", Params: `{"task_id":"` + running + `","block":false,"timeout":0}`,
			Has: []string{"<retrieval_status>not_ready<", "<status>running<"}},
		{Tool: "TaskOutput", Params: `{"task_id":"` + running + `","block":true,"timeout":100}`, Has: []string{">timeout<"}},
		{Tool: "TaskStop", Params: `{"task_id":"` + running + `"}`, Has: []string{`"message":"Successfully stopped task: ` + running}},
		{Tool: "TaskStop", Params: `{"shell_id":"` + running + `"}`, Has: []string{"is not running (status: killed)"}, Fails: true},
		{Tool: "TaskStop", Params: `{"task_id":"nope"}`, Has: []string{"No task found with ID: nope"}, Fails: true},
	})
}

func TestFiles(t *testing.T) {
	b := handstest.New(t, claude.New, "a.go", "package a\n\nfunc f() {}\n", "empty", "", "bin", "\x00\x01\x02", "x", "x\nx\n",
		"p.png", "\x89PNG", "p.pdf", "%PDF", "long", strings.Repeat("l\n", 3000))
	testneed.Symlink(t, os.TempDir(), b.Path("out"))
	b.Check(cases{
		{Tool: "Read", Params: `{"file_path":"{{DIR}}/a.go"}`, Text: "     1→package a\n     2→\n     3→func f() {}"},
		{Tool: "Read", Params: `{"file_path":"a.go","offset":3,"limit":1}`, Text: "     3→func f() {}"},
		{Tool: "Read", Params: `{"file_path":"a.go","offset":9}`, Has: []string{"shorter than the provided offset (9)", "3 lines"}},
		{Tool: "Read", Params: `{"file_path":"long"}`, Has: []string{"  2000→l\n[1000 more lines follow; read on with offset 2001]"}},
		{Tool: "Read", Params: `{"file_path":"empty"}`, Has: []string{"contents are empty"}},
		{Tool: "Read", Params: `{"file_path":"none"}`, Has: []string{"File does not exist."}, Fails: true},
		{Tool: "Read", Params: `{"file_path":"bin"}`, Has: []string{"cannot read binary files"}, Fails: true},
		{Tool: "Read", Params: `{"file_path":"p.pdf"}`, Has: []string{"PDF"}, Fails: true},
		{Tool: "Read", Params: `{"file_path":"/etc/passwd"}`, Text: "*", Fails: true},
		{Tool: "Read", Params: `{"file_path":"out/x"}`, Text: "*", Fails: true},
		{Tool: "Write", Params: `{"file_path":"n/f","content":"1"}`, Text: "File created successfully at: n/f",
			After: map[string]string{"n/f": "1"}},
		{Tool: "Write", Params: `{"file_path":"n/f","content":"2"}`, Text: "The file n/f has been updated successfully.",
			After: map[string]string{"n/f": "2"}},
		{Tool: "Write", Params: `{"file_path":"../f","content":"2"}`, Text: "*", Fails: true, After: map[string]string{"../f": "<none>"}},
		{Tool: "Write", Params: `{"file_path":"out/f","content":"2"}`, Text: "*", Fails: true},
		{Tool: "Write", Params: `{"file_path":"agent.hcl","content":"2"}`, Text: "*", Fails: true,
			After: map[string]string{"agent.hcl": "<none>"}},
		{Tool: "Edit", Params: `{"file_path":"a.go","old_string":"f()","new_string":"g()"}`, Text: "The file a.go has been updated successfully.",
			After: map[string]string{"a.go": "package a\n\nfunc g() {}\n"}},
		{Tool: "Edit", Params: `{"file_path":"x","old_string":"x","new_string":"y"}`, Fails: true,
			Has: []string{"Found 2 matches of the string to replace, but replace_all is false.", "String: x"}},
		{Tool: "Edit", Params: `{"file_path":"x","old_string":"x","new_string":"y","replace_all":true}`,
			Has: []string{"All occurrences of 'x' were successfully replaced with 'y'."}, After: map[string]string{"x": "y\ny\n"}},
		{Tool: "Edit", Params: `{"file_path":"x","old_string":"z","new_string":"w"}`, Fails: true,
			Text: "String to replace not found in file.\nString: z"},
		{Tool: "Edit", Params: `{"file_path":"x","old_string":"y","new_string":"y"}`, Fails: true, Has: []string{"No changes to make"}},
		{Tool: "Edit", Params: `{"file_path":"new","old_string":"","new_string":"n"}`, Text: "File created successfully at: new",
			After: map[string]string{"new": "n"}},
		{Tool: "Edit", Params: `{"file_path":"x","old_string":"","new_string":"n"}`, Fails: true, Has: []string{"already exists"}},
		{Tool: "Edit", Params: `{"file_path":"out/x","old_string":"a","new_string":"n"}`, Text: "*", Fails: true},
	})
	r := b.Call(t.Context(), "Read", `{"file_path":"p.png"}`)
	require.Len(t, r.Contents, 1)
	assert.Equal(t, tool.KindImage, r.Contents[0].Kind)
}

func TestEndingsAndEncodings(t *testing.T) {
	b := handstest.New(t, claude.New, "crlf", "a\r\nb\r\n", "utf16", "\xff\xfea\x00\n\x00", "latin", "caf\xe9\n",
		"bin", "a\x00b\n", "near", "func main() {\n\treturn 1\n}\n")
	b.Check(cases{
		{Tool: "Edit", Params: `{"file_path":"crlf","old_string":"a\nb","new_string":"x"}`, Text: "*",
			After: map[string]string{"crlf": "x\r\n"}},
		{Tool: "Edit", Params: `{"file_path":"crlf","old_string":"x","new_string":"y\nz"}`, Text: "*",
			After: map[string]string{"crlf": "y\r\nz\r\n"}},
		{Tool: "Edit", Params: `{"file_path":"utf16","old_string":"a","new_string":"é"}`, Text: "*",
			After: map[string]string{"utf16": "\xff\xfe\xe9\x00\n\x00"}},
		{Tool: "Read", Params: `{"file_path":"latin"}`, Text: "     1→café"},
		{Tool: "Edit", Params: `{"file_path":"latin","old_string":"é","new_string":"ü"}`, Text: "*",
			After: map[string]string{"latin": "caf\xfc\n"}},
		{Tool: "Edit", Params: `{"file_path":"bin","old_string":"b","new_string":"c"}`, Has: []string{"binary"}, Fails: true,
			After: map[string]string{"bin": "a\x00b\n"}},
		{Tool: "Edit", Params: `{"file_path":"near","old_string":"    return 1","new_string":"x"}`, Fails: true,
			Has: []string{"String to replace not found in file.\nString:     return 1\n", "whitespace only", "\n  2: →return·1\n"}},
	})
}

// TestPages reads and searches on as the results say, and gets all lines.
func TestPages(t *testing.T) {
	line := strings.Repeat("x", 300)
	b := handstest.New(t, claude.New, "big", strings.Repeat(line+"\n", 2000), "wide", strings.Repeat("x", 5000)+"\nb\nc\n")
	for _, c := range []struct{ tool, params, mark string }{
		{"Read", `{"file_path":"big","limit":5000,"offset":%d}`, "read on with offset "},
		{"Grep", `{"pattern":"x","path":"big","output_mode":"content","head_limit":0,"offset":%d}`, "continue with offset "},
	} {
		var pages []int
		for at, all := 0, 0; all < 2000; {
			text := b.Call(t.Context(), c.tool, fmt.Sprintf(c.params, at)).Text()
			n := strings.Count(text, line)
			all += n
			pages = append(pages, n)
			_, next, more := strings.Cut(text, c.mark)
			if c.tool == "Grep" && more {
				assert.Contains(t, text, fmt.Sprintf("[Showing results with pagination = limit: %d, offset: %d]\n"+
					"[%d more results follow;", n, at, 2000-all))
			}
			if !assert.Equal(t, all < 2000, more, text[max(0, len(text)-200):]) || !more {
				break
			}
			at, _ = strconv.Atoi(next[:strings.IndexByte(next, ']')])
			assert.Equal(t, all, at-map[string]int{"Read": 1}[c.tool])
		}
		assert.Greater(t, len(pages), 1, c.tool)
	}
	b.Check(cases{
		{Tool: "Read", Params: `{"file_path":"wide"}`, Text: "     1→" + strings.Repeat("x", 2000) +
			" [... 3000 more bytes in this line]\n     2→b\n     3→c"},
		{Tool: "Read", Params: `{"file_path":"wide","offset":2,"limit":1}`, Text: "     2→b"},
	})
}

func TestSearch(t *testing.T) {
	b := handstest.New(t, claude.New, "a.go", "one\nfoo\nthree\n", "d/b.go", "foo foo\n", "c.txt", "Foo\n")
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(b.Path("a.go"), old, old))
	b.Check(cases{
		{Tool: "Glob", Params: `{"pattern":"**/*.go"}`, Text: "{{DIR}}/d/b.go\n{{DIR}}/a.go"},
		{Tool: "Glob", Params: `{"pattern":"*.go","path":"d"}`, Text: "{{DIR}}/d/b.go"},
		{Tool: "Glob", Params: `{"pattern":"*.none"}`, Text: "No files found"},
		{Tool: "Glob", Params: `{"pattern":"*","path":"/etc"}`, Text: "*", Fails: true},
		{Tool: "Glob", Params: `{"pattern":"../*"}`, Text: "*", Fails: true},
		{Tool: "Grep", Params: `{"pattern":"foo"}`, Text: "Found 2 files\na.go\nd/b.go"},
		{Tool: "Grep", Params: `{"pattern":"foo","-i":true,"glob":"*.txt"}`, Text: "Found 1 files\nc.txt"},
		{Tool: "Grep", Params: `{"pattern":"foo","type":"go","path":"d"}`, Text: "Found 1 files\nd/b.go"},
		{Tool: "Grep", Params: `{"pattern":"none"}`, Text: "No files found"},
		{Tool: "Grep", Params: `{"pattern":"none","output_mode":"content"}`, Text: "No matches found"},
		{Tool: "Grep", Params: `{"pattern":"foo","output_mode":"content","path":"a.go"}`, Text: "a.go:2:foo"},
		{Tool: "Grep", Params: `{"pattern":"foo","output_mode":"content","path":"a.go","-n":false}`, Text: "a.go:foo"},
		{Tool: "Grep", Params: `{"pattern":"foo","output_mode":"content","path":"a.go","-C":1}`, Text: "a.go-1-one\na.go:2:foo\na.go-3-three"},
		{Tool: "Grep", Params: `{"pattern":"foo","output_mode":"count"}`,
			Text: "a.go:1\nd/b.go:1\n\nFound 2 total occurrences across 2 files."},
		{Tool: "Grep", Params: `{"pattern":"foo","head_limit":1}`, Has: []string{"Found 1 files\na.go", "limit: 1, offset: 0]"}},
		{Tool: "Grep", Params: `{"pattern":"foo","head_limit":1,"offset":-1}`,
			Has: []string{"limit: 1, offset: 0]\n[1 more results follow; continue with offset 1]"}},
		{Tool: "Grep", Params: `{"pattern":"foo","head_limit":1,"offset":1}`, Text: "Found 1 files\nd/b.go"},
		{Tool: "Grep", Params: `{"pattern":"foo","multiline":true}`, Text: "*", Fails: true},
		{Tool: "Grep", Params: `{"pattern":"("}`, Text: "*", Fails: true},
		{Tool: "Grep", Params: `{"pattern":"x","path":"/etc"}`, Text: "*", Fails: true},
	})
}

const notebook = `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "one",
   "metadata": {},
   "outputs": [
    {}
   ],
   "source": [
    "1\n",
    "2"
   ]
  },
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": "text"
  }
 ],
 "nbformat": 4
}
`

func TestNotebook(t *testing.T) {
	b := handstest.New(t, claude.New, "n.ipynb", notebook, "no.ipynb", "[]")
	b.Check(cases{
		{Tool: "Read", Params: `{"file_path":"n.ipynb"}`, Text: "<cell id=\"one\">1\n2</cell id=\"one\">\n" +
			"<cell id=\"cell-1\"><cell_type>markdown</cell_type>text</cell id=\"cell-1\">"},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"n.ipynb","cell_id":"one","new_source":"3\n4"}`,
			Text: "Updated cell one with 3\n4"},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"n.ipynb","new_source":"top","cell_type":"markdown","edit_mode":"insert"}`, Text: "*"},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"n.ipynb","cell_id":"cell-2","new_source":"","edit_mode":"delete"}`,
			Text: "Deleted cell cell-2"},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"n.ipynb","cell_id":"zz","new_source":""}`, Fails: true,
			Text: `Cell with ID "zz" not found in notebook.`},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"n.ipynb","new_source":"x","edit_mode":"insert"}`, Text: "*", Fails: true},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"n.txt","cell_id":"a","new_source":"x"}`, Text: "*", Fails: true},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"no.ipynb","cell_id":"a","new_source":"x"}`, Text: "*", Fails: true},
		{Tool: "NotebookEdit", Params: `{"notebook_path":"../n.ipynb","cell_id":"a","new_source":"x"}`, Text: "*", Fails: true},
	})
	text := b.Read("n.ipynb")
	assert.Contains(t, text, "\"execution_count\": null,\n   \"id\": \"one\"")
	assert.Contains(t, text, "\"source\": [\n    \"3\\n\",\n    \"4\"\n   ]")
	assert.NotContains(t, text, `"text"`)
	assert.True(t, strings.HasSuffix(text, " ],\n \"nbformat\": 4\n}\n"), text)
}

// TestNotebookKeepsTheRest compares files byte for byte: all but the edited cell stays.
func TestNotebookKeepsTheRest(t *testing.T) {
	const (
		one = `{"id":"a","cell_type":"markdown","source":"\u00e9 <b>","metadata":{"n":1.50}}`
		two = `{ "id": "b", "cell_type": "markdown", "source": [] }`
	)
	added := regexp.MustCompile(`"id":\s?"[0-9a-z]{8}"`)
	for name, c := range map[string]struct{ file, params, want string }{
		"compact, replaced": {`{"cells":[` + one + `,` + two + `],"x":"\u00e9"}`, `"cell_id":"b","new_source":"<é>"`,
			`{"cells":[` + one + `,{"id":"b","cell_type":"markdown","source":["<é>"]}],"x":"\u00e9"}`},
		"deleted first": {`{"cells":[` + one + ` , ` + two + `] }`, `"cell_id":"a","new_source":"","edit_mode":"delete"`,
			`{"cells":[` + two + `] }`},
		"deleted last": {`{"cells":[` + one + ` , ` + two + ` ]}`, `"cell_id":"b","new_source":"","edit_mode":"delete"`,
			`{"cells":[` + one + ` ]}`},
		"deleted the only": {`{"cells":[ ` + one + ` ]}`, `"cell_id":"a","new_source":"","edit_mode":"delete"`, `{"cells":[]}`},
		"CRLF, a mark, tabs; inserted between": {
			"\xef\xbb\xbf{\r\n\t\"x\": {\"cells\": 1},\r\n\t\"cells\": [\r\n\t\t" + one + ",\r\n\t\t" + two + "\r\n\t]\r\n}",
			`"cell_id":"a","new_source":"n","edit_mode":"insert","cell_type":"markdown"`,
			"\xef\xbb\xbf{\r\n\t\"x\": {\"cells\": 1},\r\n\t\"cells\": [\r\n\t\t" + one + ",\r\n\t\t{\r\n\t\t\t\"id\": \"new\",\r\n" +
				"\t\t\t\"metadata\": {},\r\n\t\t\t\"cell_type\": \"markdown\",\r\n\t\t\t\"source\": [\r\n\t\t\t\t\"n\"\r\n\t\t\t]\r\n" +
				"\t\t},\r\n\t\t" + two + "\r\n\t]\r\n}"},
		"inserted at the end": {"{\n  \"cells\": [\n    " + one + "\n  ]\n}\n",
			`"cell_id":"a","new_source":"","edit_mode":"insert","cell_type":"markdown"`,
			"{\n  \"cells\": [\n    " + one + ",\n    {\n      \"id\": \"new\",\n      \"metadata\": {},\n" +
				"      \"cell_type\": \"markdown\",\n      \"source\": []\n    }\n  ]\n}\n"},
		"inserted as the only": {"{\n \"cells\": []\n}", `"new_source":"","edit_mode":"insert","cell_type":"markdown"`,
			"{\n \"cells\": [\n  {\n   \"id\": \"new\",\n   \"metadata\": {},\n   \"cell_type\": \"markdown\",\n   \"source\": []\n  }\n ]\n}"},
		"compact, inserted at the start": {`{"cells":[` + one + `]}`, `"new_source":"","edit_mode":"insert","cell_type":"markdown"`,
			`{"cells":[{"id":"new","metadata":{},"cell_type":"markdown","source":[]},` + one + `]}`},
		"nothing new": {`{"cells":[` + `{"id":"b","cell_type":"markdown","source":["x"]}` + `]}`, `"cell_id":"b","new_source":"x"`,
			`{"cells":[{"id":"b","cell_type":"markdown","source":["x"]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := handstest.New(t, claude.New, "n.ipynb", c.file)
			b.Check(cases{{Tool: "NotebookEdit", Params: `{"notebook_path":"n.ipynb",` + c.params + `}`, Text: "*"}})
			assert.Equal(t, strings.ReplaceAll(c.want, `"id":"new"`, `"id": "new"`),
				added.ReplaceAllString(b.Read("n.ipynb"), `"id": "new"`))
		})
	}
}

func TestTodosAndPages(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
		case "/binary":
			w.Header().Set("Content-Type", "application/octet-stream")
		case "/long":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte(strings.Repeat("x", 100_000)))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("<h1>Title</h1><p>text</p>"))
	}))
	defer page.Close()
	b := handstest.New(t, func(d hands.Deps) []tool.Tool {
		d.WebAllow = []string{"127.0.0.1"}
		return claude.New(d)
	})
	b.Check(cases{
		{Tool: "TodoWrite", Params: `{"todos":[{"content":"a","status":"pending","activeForm":"b"}]}`,
			Has: []string{"Todos have been modified successfully."}},
		{Tool: "TodoWrite", Params: `{"todos":[{"content":"a","status":"new","activeForm":"b"}]}`, Text: "*", Fails: true},
		{Tool: "WebFetch", Params: `{"url":"` + page.URL + `/","prompt":"p"}`, Has: []string{"# Title\n\ntext"}},
		{Tool: "WebFetch", Params: `{"url":"` + page.URL + `/binary","prompt":"p"}`, Fails: true, Hasnt: []string{"Title"},
			Has: []string{"The content is application/octet-stream, which is not text"}},
		{Tool: "WebFetch", Params: `{"url":"` + page.URL + `/long","prompt":"p"}`, Hasnt: []string{"Title"},
			Has: []string{"x\n\n[... 25 more bytes are left out; fetch a page about a part of it]\n\n[The page itself"}},
		{Tool: "WebFetch", Params: `{"url":"` + page.URL + `/none","prompt":"p"}`, Has: []string{"status code 404"}, Fails: true},
		{Tool: "WebFetch", Params: `{"url":"file:///etc/passwd","prompt":"p"}`, Text: "*", Fails: true},
	})
}

func TestQuestions(t *testing.T) {
	b := handstest.New(t, claude.New)
	const params = `{"questions":[{"question":"Which?","header":"w","multiSelect":true,"options":[` +
		`{"label":"A","description":"a"},{"label":"B","description":"b"},{"label":"C","description":"c"}]},` +
		`{"question":"Why?","header":"y","multiSelect":false,"options":[{"label":"D","description":"d"},{"label":"E","description":"e"}]}]}`
	b.Host.Answers = map[string]tool.Answer{
		"answer0": {Action: "accept", Content: json.RawMessage(`{"answer":"1, 3"}`)},
		"answer1": {Action: "accept", Content: json.RawMessage(`{"answer":"since"}`)},
	}
	b.Check(cases{{Tool: "AskUserQuestion", Params: params, Text: `User has answered your questions: "Which?"="A, C", ` +
		`"Why?"="since". You can now continue with the user's answers in mind.`}})
	b.Host.Answers["answer1"] = tool.Answer{Action: "decline"}
	b.Check(cases{{Tool: "AskUserQuestion", Params: params, Has: []string{"declined"}, Fails: true}})
	b.Check(cases{{Tool: "AskUserQuestion", Params: `{"questions":[]}`, Text: "*", Fails: true}})
}
