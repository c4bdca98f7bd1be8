package main

import (
	"strings"
)

type texts = map[string]string

func fileCases() []contractCase {
	return []contractCase{
		{name: "raw content", tool: "read_file", files: texts{"README.md": "# Hi\r\nno numbers\n"},
			params: `{"path":"README.md"}`, text: "# Hi\r\nno numbers\n"},
		{name: "empty file", tool: "read_file", files: texts{"e": ""}, params: `{"path":"e"}`},
		{name: "unicode", tool: "read_file", files: texts{"nä/日本.txt": "grüße 👋"}, params: `{"path":"nä/日本.txt"}`,
			text: "grüße 👋"},
		{name: "absolute path inside", tool: "read_file", files: texts{"a": "x\n"}, params: `{"path":"{{DIR}}/a"}`,
			text: "x\n"},
		{name: "dots that stay inside", tool: "read_file", files: texts{"a": "x\n", "d/": ""},
			params: `{"path":"d/../a"}`, text: "x\n"},
		{name: "missing", tool: "read_file", params: `{"path":"none.txt"}`, fails: true,
			has: []string{"none.txt", "does not exist"}},
		{name: "directory", tool: "read_file", files: texts{"d/": ""}, params: `{"path":"d"}`, fails: true,
			has: []string{"irectory", "list_files"}},
		{name: "binary", tool: "read_file", files: texts{"b": "a\x00b"}, params: `{"path":"b"}`, fails: true,
			has: []string{"binary"}},
		{name: "outside", tool: "read_file", params: `{"path":"../x"}`, fails: true,
			has: []string{"outside the workspace"}},
		{name: "absolute outside", tool: "read_file", params: `{"path":"/etc/passwd"}`, fails: true,
			has: []string{"outside the workspace"}},
		{name: "empty path", tool: "read_file", params: `{"path":""}`, fails: true, has: []string{"empty"}},
		{name: "no parameter", tool: "read_file", params: `{}`, fails: true, usage: true,
			has: []string{"path", "required"}},
		{name: "wrong type and unknown at once", tool: "read_file", params: `{"path":7,"pth":1}`, fails: true,
			usage: true, has: []string{"path", "string", "pth"}},
		{name: "params are no object", tool: "read_file", params: `["a"]`, fails: true, usage: true,
			has: []string{"object"}},

		{name: "sorted array, slash behind directories, without .git and .agent", tool: "list_files",
			files: texts{"b/c.txt": "", "a.txt": "", "b/d/e": "", ".git/config": "", ".agent/Taskfile.yml": "",
				".hidden": ""},
			params: `{}`, text: `[".hidden","a.txt","b/","b/c.txt","b/d/","b/d/e"]`},
		{name: "the example", tool: "list_files", files: texts{"agent/x": "", "y": ""}, params: `{"path":"agent"}`,
			text: `["x"]`},
		{name: "empty directory", tool: "list_files", files: texts{"e/": ""}, params: `{"path":"e"}`, text: `[]`},
		{name: "missing", tool: "list_files", params: `{"path":"none"}`, fails: true, has: []string{"none"}},
		{name: "a file", tool: "list_files", files: texts{"f": "x"}, params: `{"path":"f"}`, fails: true,
			has: []string{"not a directory"}},
		{name: "outside", tool: "list_files", params: `{"path":".."}`, fails: true, has: []string{"outside"}},

		{name: "the example", tool: "write_file", params: `{"content":"Hello World","path":"greeting.txt"}`,
			text: "Successfully wrote to 'greeting.txt'.", after: texts{"greeting.txt": "Hello World"}},
		{name: "replaces all", tool: "write_file", files: texts{"a": "a long old text\n"},
			params: `{"content":"n","path":"a"}`, after: texts{"a": "n"}},
		{name: "makes parents", tool: "write_file", params: `{"content":"x","path":"p/q/r"}`,
			text: "Successfully wrote to 'p/q/r'.", after: texts{"p/q/r": "x"}},
		{name: "empty content", tool: "write_file", files: texts{"a": "x"}, params: `{"content":"","path":"a"}`,
			after: texts{"a": ""}},
		{name: "text is data", tool: "write_file", params: `{"content":"\\n$1\u0000\r\n","path":"a"}`,
			after: texts{"a": "\\n$1\x00\r\n"}},
		{name: "NFD stays NFD", tool: "write_file", params: "{\"content\":\"e\u0301\",\"path\":\"e\u0301.txt\"}",
			after: texts{"e\u0301.txt": "e\u0301", "\u00e9.txt": "<none>"}},
		{name: "directory", tool: "write_file", files: texts{"d/x": "1"}, params: `{"content":"x","path":"d"}`,
			fails: true, has: []string{"Is a directory: 'd'"}},
		{name: "a file as parent", tool: "write_file", files: texts{"f": "1"}, params: `{"content":"x","path":"f/g"}`,
			fails: true, has: []string{"f"}},
		{name: "outside", tool: "write_file", params: `{"content":"x","path":"../out.txt"}`, fails: true,
			has: []string{"outside"}, after: texts{"../out.txt": "<none>"}},
		{name: "protected", tool: "write_file", files: texts{".git/config": "1"},
			params: `{"content":"x","path":".git/config"}`, fails: true, has: []string{"protected"}},
		{name: "toolhost's own records", tool: "write_file", params: `{"content":"x","path":".agent/runs/cli/x"}`,
			fails: true, has: []string{"protected"}},
		{name: "missing content", tool: "write_file", params: `{"path":"a"}`, fails: true, usage: true,
			has: []string{"content", "required"}, after: texts{"a": "<none>"}},

		{name: "the example", tool: "append_file", files: texts{"log.txt": "old\n"},
			params: `{"content":"New log entry.\n","path":"log.txt"}`,
			text:   `{"message":"Successfully appended to 'log.txt'."}`,
			after:  texts{"log.txt": "old\nNew log entry.\n"}},
		{name: "creates", tool: "append_file", params: `{"content":"x","path":"n"}`,
			text: `{"message":"Successfully appended to 'n'."}`, after: texts{"n": "x"}},
		{name: "adds no newline", tool: "append_file", files: texts{"a": "1"}, params: `{"content":"2","path":"a"}`,
			after: texts{"a": "12"}},
		{name: "directory", tool: "append_file", files: texts{"d/": ""}, params: `{"content":"x","path":"d"}`,
			fails: true, has: []string{"irectory"}},
		{name: "outside", tool: "append_file", params: `{"content":"x","path":"/etc/passwd"}`, fails: true,
			has: []string{"outside"}},

		{name: "the example", tool: "delete_file", files: texts{"new_file.txt": "x"}, params: `{"path":"new_file.txt"}`,
			text: "Successfully deleted file new_file.txt", after: texts{"new_file.txt": "<none>"}},
		{name: "missing", tool: "delete_file", params: `{"path":"none"}`, fails: true,
			has: []string{"file does not exist: none"}},
		{name: "directory", tool: "delete_file", files: texts{"d/x": "1"}, params: `{"path":"d"}`, fails: true,
			has: []string{"irectory"}},
		{name: "outside", tool: "delete_file", params: `{"path":"../x"}`, fails: true, has: []string{"outside"}},
		{name: "protected", tool: "delete_file", files: texts{"agent.hcl": ""}, params: `{"path":"agent.hcl"}`,
			fails: true, has: []string{"protected"}},
	}
}

func editCases() []contractCase {
	const crlf = "one\r\ntwo\r\nthree\r\n"
	return []contractCase{
		{name: "example 1", tool: "edit_file", files: texts{"src/main.go": "package a\n\nfunc oldFunc() {}\n"},
			params: `{"path":"src/main.go","old_str":"func oldFunc()","new_str":"func newFunc()","expected_replacements":1}`,
			has: []string{`"message":"Successfully modified file: src/main.go (1 replacement(s))."`,
				`"actual_replacements":1`, `-func oldFunc() {}\n+func newFunc() {}\n`},
			after: texts{"src/main.go": "package a\n\nfunc newFunc() {}\n"}},
		{name: "example 2", tool: "edit_file",
			params: `{"path":"new_feature/README.md","old_str":"","new_str":"# New Feature\n\nThis is a new feature."}`,
			has: []string{`"message":"Created new file: new_feature/README.md with provided content."`,
				`"actual_replacements":1`},
			after: texts{"new_feature/README.md": "# New Feature\n\nThis is a new feature."}},
		{name: "unescapes as a Go string literal", tool: "edit_file", files: texts{"a": "x\ty\n"},
			params: `{"path":"a","old_str":"x\\ty","new_str":"\\u00e9\\n"}`, after: texts{"a": "é\n\n"}},
		{name: "an unknown escape leaves it as it is", tool: "edit_file", files: texts{"a": `x\d`},
			params: `{"path":"a","old_str":"x\\d","new_str":"y\\d"}`, after: texts{"a": `y\d`}},
		{name: "a raw newline leaves it as it is", tool: "edit_file", files: texts{"a": "x\\n\ny"},
			params: `{"path":"a","old_str":"x\\n\ny","new_str":"z"}`, after: texts{"a": "z"}},
		{name: "the raw pair where only that occurs, and says so", tool: "edit_file", files: texts{"a": `print("x\n")`},
			params: `{"path":"a","old_str":"x\\n","new_str":"y\\n"}`,
			after:  texts{"a": `print("y\n")`}, has: []string{"Successfully modified file: a (1 replacement(s))."}},
		{name: "a replacement is no template", tool: "edit_file", files: texts{"a": "x"},
			params: `{"path":"a","old_str":"x","new_str":"$1 $& ${0}"}`, after: texts{"a": "$1 $& ${0}"}},
		{name: "must occur exactly once", tool: "edit_file", files: texts{"a": "x\ny\nx\n"},
			params: `{"path":"a","old_str":"x","new_str":"z"}`, fails: true,
			has: []string{"EDIT_EXPECTED_OCCURRENCE_MISMATCH: ", "1 and 3", "(a)"}},
		{name: "N and all are replaced", tool: "edit_file", files: texts{"a": "x x x"},
			params: `{"path":"a","old_str":"x","new_str":"z","expected_replacements":3}`,
			after:  texts{"a": "z z z"}, has: []string{`"actual_replacements":3`, "(3 replacement(s))"}},
		{name: "N as another number of the same value", tool: "edit_file", files: texts{"a": "x x"},
			params: `{"path":"a","old_str":"x","new_str":"z","expected_replacements":2.0}`, after: texts{"a": "z z"}},
		{name: "not N", tool: "edit_file", files: texts{"a": "x x x"},
			params: `{"path":"a","old_str":"x","new_str":"z","expected_replacements":2}`, fails: true,
			has: []string{"EDIT_EXPECTED_OCCURRENCE_MISMATCH: "}},
		{name: "no occurrence shows the nearest lines", tool: "edit_file",
			files:  texts{"a": "func main() {\n\treturn\n}\n"},
			params: `{"path":"a","old_str":"func main() {\n    return","new_str":"z"}`, fails: true,
			has: []string{"EDIT_NO_OCCURRENCE_FOUND: ", "(a)", "func"}},
		{name: "identical", tool: "edit_file", files: texts{"a": "x"},
			params: `{"path":"a","old_str":"x","new_str":"x"}`, fails: true, has: []string{"EDIT_NO_CHANGE: "}},
		{name: "empty old_str and an existing file", tool: "edit_file", files: texts{"a": "x"},
			params: `{"path":"a","old_str":"","new_str":"y"}`, fails: true,
			has: []string{"ATTEMPT_TO_CREATE_EXISTING_FILE: "}},
		{name: "missing file", tool: "edit_file", params: `{"path":"none","old_str":"x","new_str":"y"}`, fails: true,
			has: []string{"EDIT_FILE_NOT_FOUND: ", "(none)"}},
		{name: "empty path", tool: "edit_file", params: `{"path":"","old_str":"x","new_str":"y"}`, fails: true,
			has: []string{"EDIT_INVALID_PATH: "}},
		{name: "outside", tool: "edit_file", params: `{"path":"../x","old_str":"","new_str":"y"}`, fails: true,
			has: []string{"outside"}, after: texts{"../x": "<none>"}},
		{name: "directory", tool: "edit_file", files: texts{"d/": ""},
			params: `{"path":"d","old_str":"x","new_str":"y"}`, fails: true, has: []string{"directory"}},
		{name: "binary", tool: "edit_file", files: texts{"b": "x\x00"},
			params: `{"path":"b","old_str":"x","new_str":"y"}`, fails: true, has: []string{"binary"}},
		{name: "CRLF stays, LF given", tool: "edit_file", files: texts{"a": crlf},
			params: `{"path":"a","old_str":"one\ntwo","new_str":"1\n2\n3"}`,
			after:  texts{"a": "1\r\n2\r\n3\r\nthree\r\n"}},
		{name: "BOM stays", tool: "edit_file", files: texts{"a": "\ufeffone\n"},
			params: `{"path":"a","old_str":"one","new_str":"two"}`, after: texts{"a": "\ufefftwo\n"}},
		{name: "Latin-1 bytes stay", tool: "edit_file", files: texts{"a": "caf\xe9 one\n"},
			params: `{"path":"a","old_str":"one","new_str":"two"}`, after: texts{"a": "caf\xe9 two\n"}},
		{name: "no final newline stays", tool: "edit_file", files: texts{"a": "one"},
			params: `{"path":"a","old_str":"one","new_str":"two"}`, after: texts{"a": "two"}},
		{name: "an empty file holds nothing", tool: "edit_file", files: texts{"a": ""},
			params: `{"path":"a","old_str":"x","new_str":"y"}`, fails: true, has: []string{"EDIT_NO_OCCURRENCE_FOUND"}},
		{name: "all wrong parameters at once", tool: "edit_file",
			params: `{"path":1,"expected_replacements":"x","colour":1}`, fails: true, usage: true,
			has: []string{"path", "old_str", "new_str", "expected_replacements", "colour"}},
	}
}

func multiEditCases() []contractCase {
	return []contractCase{
		{name: "example 1", tool: "multi_edit",
			files: texts{"config/app.json": "{\"debug\": false}\nversion: \"1.0\"\n"},
			params: `{"file_path":"{{DIR}}/config/app.json","edits":[{"old_string":"\"debug\": ` +
				`false","new_string":"\"debug\": true"},{"old_string":"version: ` +
				`\"1.0\"","new_string":"version: \"2.0\""}]}`,
			has: []string{"Successfully performed multi-edit on file: ",
				"config/app.json (2 total replacement(s))."},
			after: texts{"config/app.json": "{\"debug\": true}\nversion: \"2.0\"\n"}},
		{name: "example 2", tool: "multi_edit",
			params: `{"file_path":"new_project/main.go","edits":[{"old_string":"","new_string":"package ` +
				`main\n\nfunc main() {\n\t// Initial content\n}\n"},{"old_string":"// Initial ` +
				`content","new_string":"// Updated content with a new line"}]}`,
			has:   []string{"Successfully performed multi-edit on file: new_project/main.go (2 total replacement(s))."},
			after: texts{"new_project/main.go": "package main\n\nfunc main() {\n\t// Updated content with a new line\n}\n"}},
		{name: "first occurrence, or all", tool: "multi_edit", files: texts{"a": "x x y y"},
			params: `{"file_path":"a","edits":[{"old_string":"x","new_string":"1"},{"old_string":"y",` +
				`"new_string":"2","replace_all":true}]}`,
			has: []string{"(3 total replacement(s))."}, after: texts{"a": "1 x 2 2"}},
		{name: "each on the result of the one before", tool: "multi_edit", files: texts{"a": "a"},
			params: `{"file_path":"a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"c"}]}`,
			after:  texts{"a": "c"}},
		{name: "no unescaping", tool: "multi_edit", files: texts{"a": `x\ny`},
			params: `{"file_path":"a","edits":[{"old_string":"\\n","new_string":"\\t"}]}`, after: texts{"a": `x\ty`}},
		{name: "not found rolls back", tool: "multi_edit", files: texts{"a": "x"},
			params: `{"file_path":"a","edits":[{"old_string":"x","new_string":"1"},{"old_string":"zz","new_string":"2"}]}`, fails: true,
			has: []string{"MULTI_EDIT_NO_OCCURRENCE_FOUND: edit 1 (old_string: 'zz') not found. Rolling back."}},
		{name: "identical", tool: "multi_edit", files: texts{"a": "x"},
			params: `{"file_path":"a","edits":[{"old_string":"x","new_string":"x"}]}`, fails: true,
			has: []string{"EDIT_OLD_NEW_IDENTICAL", "edit 0"}},
		{name: "no edits", tool: "multi_edit", files: texts{"a": "x"}, params: `{"file_path":"a","edits":[]}`,
			fails: true, has: []string{"edit"}},
		{name: "empty old_string later", tool: "multi_edit", files: texts{"a": "x"},
			params: `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"","new_string":"z"}]}`,
			fails:  true, has: []string{"edit 1"}},
		{name: "empty old_string and an existing file", tool: "multi_edit", files: texts{"a": "x"},
			params: `{"file_path":"a","edits":[{"old_string":"","new_string":"z"}]}`, fails: true,
			has: []string{"ATTEMPT_TO_CREATE_EXISTING_FILE"}},
		{name: "a failed creation leaves nothing", tool: "multi_edit",
			params: `{"file_path":"n/a","edits":[{"old_string":"","new_string":"z"},{"old_string":"q","new_string":"z"}]}`, fails: true,
			has: []string{"edit 1"}, after: texts{"n/a": "<none>", "n": "<none>"}},
		{name: "missing file", tool: "multi_edit",
			params: `{"file_path":"none","edits":[{"old_string":"x","new_string":"y"}]}`, fails: true,
			has: []string{"none"}},
		{name: "outside", tool: "multi_edit",
			params: `{"file_path":"/etc/passwd","edits":[{"old_string":"root","new_string":"y"}]}`, fails: true,
			has: []string{"outside"}},
		{name: "wrong types deep inside", tool: "multi_edit",
			params: `{"file_path":"a","edits":[{"old_string":1,"new_strin":"y"}]}`, fails: true, usage: true,
			has: []string{"edits[0].old_string", "edits[0].new_string", "new_strin"}},
	}
}

func searchCases() []contractCase {
	return []contractCase{
		{name: "the example", tool: "rg", needs: "rg", files: texts{"a.txt": "An Error\n", "b.txt": "fine\n"},
			params: `{"pattern":"error","args":"--ignore-case"}`, text: "a.txt:1:An Error\n"},
		{name: "no match", tool: "rg", needs: "rg", files: texts{"a": "x"}, params: `{"pattern":"zzz"}`,
			text: "No matches found"},
		{name: "empty pattern", tool: "rg", needs: "rg", params: `{"pattern":""}`, fails: true,
			has: []string{"search pattern cannot be empty"}},
		{name: "the pattern is data", tool: "rg", needs: "rg", files: texts{"a": "--pre=sh\n"},
			params: `{"pattern":"--pre=sh"}`, text: "a:1:--pre=sh\n"},
		{name: "refuses --pre", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"--pre cat"}`, fails: true,
			has: []string{"--pre"}},
		{name: "refuses --pre=", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"--pre=cat"}`, fails: true,
			has: []string{"--pre"}},
		{name: "refuses --pre-glob", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"--pre-glob=*"}`,
			fails: true, has: []string{"--pre-glob"}},
		{name: "refuses --hostname-bin", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"--hostname-bin=id"}`,
			fails: true, has: []string{"--hostname-bin"}},
		{name: "refuses --search-zip", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"--search-zip"}`,
			fails: true, has: []string{"--search-zip"}},
		{name: "refuses -z in a cluster", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"-iz"}`, fails: true,
			has: []string{"-z"}},
		{name: "refuses -f outside", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"-f /etc/passwd"}`,
			fails: true, has: []string{"outside"}},
		{name: "refuses a path outside", tool: "rg", needs: "rg", params: `{"pattern":"x","args":"/etc"}`, fails: true,
			has: []string{"outside"}},
		{name: "an invalid expression", tool: "rg", needs: "rg", files: texts{"a": "x"}, params: `{"pattern":"("}`,
			fails: true, has: []string{"unclosed group"}},
		{name: "a glob without quotes reaches rg", tool: "rg", needs: "rg",
			files:  texts{"a.go": "hit\n", "b.go": "no\n", "c.txt": "hit\n"},
			params: `{"pattern":"hit","args":"-g *.go"}`, text: "a.go:1:hit\n"},
		{name: "quotes in args", tool: "rg", needs: "rg", files: texts{"a b/x.go": "hit\n", "y.txt": "hit\n"},
			params: `{"pattern":"hit","args":"-g '*.go' 'a b'"}`, text: "a b/x.go:1:hit\n"},

		{name: "the example", tool: "glob", files: texts{"b.go": "", "a.go": "", "c.txt": "", "d/e.go": ""},
			params: `{"pattern":"*.go"}`, text: `["a.go","b.go"]`},
		{name: "any subdirectory", tool: "glob", files: texts{"a.md": "", "d/b.md": "", "d/e/c.md": "", "x.go": ""},
			params: `{"pattern":"**/*.md"}`, text: `["a.md","d/b.md","d/e/c.md"]`},
		{name: "braces, classes, directories", tool: "glob", files: texts{"a1/": "", "a2.x": "", "b3.y": "", "c": ""},
			params: `{"pattern":"[ab][0-9]{,.x}"}`, text: `["a1","a2.x"]`},
		{name: "none", tool: "glob", params: `{"pattern":"*.rs"}`, text: "No matches found"},
		{name: "invalid", tool: "glob", params: `{"pattern":"[a"}`, fails: true, has: []string{"[a"}},
		{name: "outside", tool: "glob", params: `{"pattern":"../*"}`, fails: true, has: []string{"outside"}},

		{name: "no repository", tool: "git_diff", needs: "git", params: `{}`, fails: true, has: []string{"git"}},
	}
}

func passthroughCases() []contractCase {
	lines := strings.Repeat("line\n", 30)
	return []contractCase{
		{name: "the example", tool: "head", files: texts{"file.txt": lines}, params: `{"args":"-n 20 file.txt"}`,
			text: strings.Repeat("line\n", 20)},
		{name: "10 lines by default", tool: "head", files: texts{"file.txt": lines}, params: `{"args":"file.txt"}`,
			text: strings.Repeat("line\n", 10)},
		{name: "no args, no stdin", tool: "head", params: `{}`},
		{name: "the example", tool: "tail", files: texts{"file.txt": "first\n" + lines},
			params: `{"args":"-n 20 file.txt"}`, text: strings.Repeat("line\n", 20)},
		{name: "never follows", tool: "tail", files: texts{"file.txt": "x\n"}, params: `{"args":"-f file.txt"}`,
			fails: true, has: []string{"-f"}},
		{name: "the example", tool: "wc", files: texts{"file.txt": lines}, params: `{"args":"-l file.txt"}`,
			text: "30 file.txt\n"},
		{name: "names from a file", tool: "wc", files: texts{"n": "/etc/passwd\x00"},
			params: `{"args":"--files0-from=n"}`, fails: true, has: []string{"--files0-from"}},
		{name: "the example", tool: "cloc", needs: "cloc", files: texts{"a.go": "package a\n"}, params: `{"args":"."}`,
			has: []string{"Language", "Go"}},
		{name: "the example", tool: "cp", files: texts{"source.txt": "s"},
			params: `{"args":"source.txt destination.txt"}`, after: texts{"destination.txt": "s"}},
		{name: "from outside", tool: "cp", params: `{"args":"/etc/passwd x"}`, fails: true, has: []string{"outside"},
			after: texts{"x": "<none>"}},
		{name: "to outside", tool: "cp", files: texts{"a": "x"}, params: `{"args":"a ../out"}`, fails: true,
			has: []string{"outside"}, after: texts{"../out": "<none>"}},
		{name: "to outside with -t", tool: "cp", files: texts{"a": "x"}, params: `{"args":"-t .. a"}`, fails: true,
			after: texts{"../a": "<none>"}},
		{name: "the example", tool: "mv", files: texts{"old.txt": "o"}, params: `{"args":"old.txt new.txt"}`,
			after: texts{"old.txt": "<none>", "new.txt": "o"}},
		{name: "to outside", tool: "mv", files: texts{"a": "x"}, params: `{"args":"a .."}`, fails: true,
			has: []string{"outside"}},
		{name: "the example", tool: "rm", files: texts{"file_to_delete.txt": ""},
			params: `{"args":"file_to_delete.txt"}`, after: texts{"file_to_delete.txt": "<none>"}},
		{name: "the workspace itself", tool: "rm", files: texts{"a": "x"}, params: `{"args":"-rf ."}`, fails: true},
		{name: "globs inside quotes are data", tool: "rm", files: texts{"a": "x", "*": "y"}, params: `{"args":"'*'"}`,
			after: texts{"*": "<none>"}},
		{name: "unquoted globs expand", tool: "rm", files: texts{"a.x": "1", "b.x": "2", "c.y": "3"},
			params: `{"args":"*.x"}`, after: texts{"a.x": "<none>", "b.x": "<none>"}},
		{name: "missing", tool: "rm", params: `{"args":"none"}`, fails: true, has: []string{"exit code 1", "none"}},
		{name: "the example", tool: "touch", params: `{"args":"new_empty_file.txt"}`,
			after: texts{"new_empty_file.txt": ""}},
		{name: "outside", tool: "touch", params: `{"args":"../x"}`, fails: true, has: []string{"outside"},
			after: texts{"../x": "<none>"}},
		{name: "the example", tool: "mkdir", params: `{"args":"new_dir"}`, after: texts{"new_dir/": ""}},
		{name: "a failure tells exit code and stderr", tool: "mkdir", files: texts{"d/": ""}, params: `{"args":"d"}`,
			fails: true, has: []string{"exit code 1", "stderr", "File exists"}},
		{name: "stderr with exit 0 comes under a heading", tool: "head", files: texts{"a": "x\n"},
			params: `{"args":"-n 1 a"}`, text: "x\n"},
		{name: "quotes and escapes", tool: "head", files: texts{"a b": "1\n", "c d": "2\n"},
			params: `{"args":"-q 'a b' c\\ d"}`, text: "1\n2\n"},
		{name: "a pipe", tool: "head", params: `{"args":"a | wc"}`, fails: true, has: []string{"pipe"}},
		{name: "a brace expansion", tool: "mkdir", params: `{"args":"-p src/{a,b}"}`, fails: true,
			has: []string{"brace expansion"}, after: texts{"src": "<none>"}},
		{name: "a separator", tool: "head", params: `{"args":"a; id"}`, fails: true, has: []string{";"}},
		{name: "a conjunction", tool: "head", params: `{"args":"a && id"}`, fails: true, has: []string{"&&"}},
		{name: "a redirection", tool: "head", params: `{"args":"a > b"}`, fails: true, has: []string{"redirection"},
			after: texts{"b": "<none>"}},
		{name: "a substitution", tool: "head", params: `{"args":"$(id)"}`, fails: true, has: []string{"$("}},
		{name: "backquotes", tool: "head", params: "{\"args\":\"`id`\"}", fails: true, has: []string{"`"}},
		{name: "a variable", tool: "head", params: `{"args":"$HOME/x"}`, fails: true, has: []string{"$HOME"}},
		{name: "an open quote", tool: "head", params: `{"args":"'a"}`, fails: true, has: []string{"quote"}},
		{name: "args of the wrong type", tool: "head", params: `{"args":["a"]}`, fails: true, usage: true,
			has: []string{"args", "string"}},
		{name: "secrets through /proc", tool: "head", params: `{"args":"/proc/self/environ"}`, fails: true,
			has: []string{"outside"}},
	}
}

func todoCases() []contractCase {
	return []contractCase{
		{name: "the example", tool: "todowrite",
			params: `{"todos_json":"[\n  {\"id\": \"task-1\", \"content\": \"Implement feature X\", \"status\": ` +
				`\"in_progress\", \"priority\": \"high\"}\n]"}`,
			text: `{"output":"Successfully updated 1 todos","title":"Updated todo list with 1 active todos"}`},
		{name: "an array value too", tool: "todowrite",
			params: `{"todos_json":[{"id":"a","content":"x","status":"completed","priority":"low"}]}`,
			text:   `{"output":"Successfully updated 1 todos","title":"Updated todo list with 0 active todos"}`},
		{name: "status", tool: "todowrite",
			params: `{"todos_json":"[{\"id\":\"a\",\"content\":\"x\",\"status\":\"bad\",\"priority\":\"low\"}]"}`,
			fails:  true,
			has:    []string{"invalid status 'bad' for todo 1. Must be one of: pending, in_progress, completed, cancelled"}},
		{name: "priority", tool: "todowrite",
			params: `{"todos_json":"[{\"id\":\"a\",\"content\":\"x\",\"status\":\"pending\",\"priority\":\"huge\"}]"}`,
			fails:  true,
			has:    []string{"invalid priority 'huge' for todo 1. Must be one of: high, medium, low"}},
		{name: "content", tool: "todowrite",
			params: `{"todos_json":"[{\"id\":\"a\",\"content\":\"\",\"status\":\"pending\",\"priority\":\"low\"}]"}`,
			fails:  true,
			has:    []string{"todo content cannot be empty for todo 1"}},
		{name: "one in progress", tool: "todowrite",
			params: `{"todos_json":"[{\"id\":\"a\",\"content\":\"x\",\"status\":\"in_progress\",` +
				`\"priority\":\"low\"},{\"id\":\"b\",\"content\":\"x\",\"status\":\"in_progress\",` +
				`\"priority\":\"low\"}]"}`, fails: true,
			has: []string{"only one todo can be in_progress at a time, found 2"}},
		{name: "no JSON", tool: "todowrite", params: `{"todos_json":"[{"}`, fails: true, has: []string{"todos_json"}},
		{name: "empty", tool: "todoread", params: `{}`, text: `{"title":"0 todos","output":"[]"}`},
	}
}

const sampleTaskfile = `version: '3'
tasks:
  default:
    silent: true
    cmds:
      - echo the default
  build:
    desc: Build it
    silent: true
    cmds:
      - echo built {{.CLI_ARGS}}
  args:
    desc: Show the arguments
    silent: true
    cmds:
      - printf '<%s>' {{.CLI_ARGS}}
  test:
    desc: Test it
    silent: true
    cmds:
      - echo out; echo err >&2; exit 7
  hidden:
    cmds: ["true"]
  inner:
    desc: Not for anybody
    internal: true
    cmds: ["true"]
  where:
    desc: Where it runs
    silent: true
    cmds:
      - ls
`

func taskCases() []contractCase {
	with := texts{".agent/Taskfile.yml": sampleTaskfile, "marker": ""}
	broken := texts{".agent/Taskfile.yml": "version: '3'\ntasks:\n  a: [\n"}
	return []contractCase{
		{name: "described and not internal, in order", tool: "list_commands", files: with, params: `{}`,
			text: `{"commands":[{"name":"build","description":"Build it"},{"name":"args","description":"Show the ` +
				`arguments"},{"name":"test","description":"Test it"},{"name":"where","description":"Where ` +
				`it runs"}],"message":"Successfully listed 4 development commands from .agent/Taskfile.yml."}`},
		{name: "no Taskfile", tool: "list_commands", params: `{}`,
			has: []string{`"commands":[]`, ".agent/Taskfile.yml"}},
		{name: "a broken Taskfile", tool: "list_commands", files: broken, params: `{}`, fails: true,
			has: []string{"Taskfile.yml", "3"}},
		{name: "the example", tool: "run_command", files: with, params: `{"command":"build"}`, has: []string{"built"}},
		{name: "arguments reach CLI_ARGS as words", tool: "run_command", files: with,
			params: `{"command":"args","args":"-v 'a b'"}`, has: []string{"<-v><a b>"}},
		{name: "a failure has its exit code and both streams", tool: "run_command", files: with,
			params: `{"command":"test"}`, fails: true, has: []string{"7", "out", "err"}},
		{name: "starts in the workspace root", tool: "run_command", files: with, params: `{"command":"where"}`,
			has: []string{"marker"}},
		{name: "unknown, with the nearest", tool: "run_command", files: with, params: `{"command":"biuld"}`,
			fails: true, has: []string{"command 'biuld' not found", "build"}},
		{name: "no Taskfile, which tools may not write", tool: "run_command", params: `{"command":"build"}`,
			fails: true, has: []string{"command 'build' not found", "Ask the user to create .agent/Taskfile.yml"}},
		{name: "a broken Taskfile", tool: "run_command", files: broken, params: `{"command":"a"}`, fails: true,
			has: []string{"Taskfile.yml"}},
		{name: "no command", tool: "run_command", files: with, params: `{}`, fails: true, usage: true,
			has: []string{"command", "required"}},
		{name: "the default task", tool: "task", files: with, params: `{"args":""}`, has: []string{"the default"}},
		{name: "no args at all", tool: "task", files: with, params: `{}`, has: []string{"the default"}},
		{name: "a specific task", tool: "task", files: with, params: `{"args":"build"}`, has: []string{"built"}},
	}
}

func htmlCases() []contractCase {
	const page = `<html><head><style>p{}</style><title>T</title></head><body><h1>Head</h1><p>Some <b>bold</b> ` +
		`text</p><img src="x.png" alt="pic"><video src="v"></video><script>alert(1)</script></body></html>`
	return []contractCase{
		{name: "the example", tool: "html_to_markdown", files: texts{"index.html": page},
			params: `{"path":"index.html"}`,
			text:   `{"inputPath":"index.html","outputPath":"index.md","success":true}`,
			after:  texts{"index.md": "# Head\n\nSome **bold** text\n"}},
		{name: "missing", tool: "html_to_markdown", params: `{"path":"none.html"}`, fails: true,
			has: []string{"none.html"}},
		{name: "directory", tool: "html_to_markdown", files: texts{"d/": ""}, params: `{"path":"d"}`, fails: true,
			has: []string{"directory"}},
		{name: "outside", tool: "html_to_markdown", params: `{"path":"../x.html"}`, fails: true,
			has: []string{"outside"}},
		{name: "a scheme that is none", tool: "web_fetch", params: `{"url":"ftp://example.org/"}`, fails: true,
			has: []string{"http://", "https://"}},
		{name: "no URL", tool: "web_fetch", params: `{"url":""}`, fails: true, has: []string{"http://"}},
		{name: "loopback is refused", tool: "web_fetch", params: `{"url":"http://127.0.0.1:9/"}`, fails: true,
			has: []string{"127.0.0.1", "web"}},
		{name: "loopback by name is refused", tool: "web_fetch", params: `{"url":"http://localhost:9/"}`, fails: true,
			has: []string{"localhost"}},
		{name: "a mapped address is refused", tool: "web_fetch", params: `{"url":"http://[::ffff:7f00:1]:9/"}`,
			fails: true},
	}
}
