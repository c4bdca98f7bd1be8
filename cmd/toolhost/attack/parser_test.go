package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// slow is longer than reading any input may take, even on a busy machine; costly is a bound of CPU
// time.
const (
	slow   = time.Minute
	costly = 20 * time.Second
)

// configBombs are files that break a naive reader.
var configBombs = map[string]string{
	"nested brackets":    "locals { a = " + strings.Repeat("[", 60000) + strings.Repeat("]", 60000) + " }\n",
	"nested parentheses": "locals { a = " + strings.Repeat("(", 60000) + "1" + strings.Repeat(")", 60000) + " }\n",
	"nested braces":      "locals { a = " + strings.Repeat("{a=", 30000) + "1" + strings.Repeat("}", 30000) + " }\n",
	"nested blocks":      strings.Repeat("a {\n", 30000) + strings.Repeat("}\n", 30000),
	"nested templates": "locals { a = " + strings.Repeat("\"${", 20000) + "1" + strings.Repeat("}\"", 20000) +
		" }\n",
	"nested conditionals": "locals { a = " + strings.Repeat("true ? ", 20000) + "1" + strings.Repeat(" : 2", 20000) +
		" }\n",
	"nested operators": "locals { a = " + strings.Repeat("!", 60000) + "true }\n",
	"nested for": "locals {\n l = [1,2,3,4,5,6,7,8,9,10]\n a = [for a in local.l : [for b in local.l : " +
		"[for c in local.l : [for d in local.l : [for e in local.l : [for f in local.l : [for g in local.l " +
		": [for h in local.l : h]]]]]]]]\n}\n",
	"locals in a circle":    "locals {\n a = local.b\n b = local.a\n}\n",
	"doubling":              "locals {\n a0 = \"xxxxxxxxxxxxxxxx\"\n" + doubling() + "}\n",
	"a heredoc without end": "locals { a = <<E\n" + strings.Repeat("x\n", 1000),
	"NUL":                   "locals { a = \"\x00\" }\n",
	"not UTF-8":             "locals { a = \"\xff\xfe\" }\n",
	"a function that reads": "locals { a = file(\"/etc/passwd\") }\n",
	"many mistakes":         strings.Repeat("bad {}\n", 20000),
	"one long line":         "# " + strings.Repeat("x", 3<<20) + "\n",
}

func doubling() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, " a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	return b.String()
}

func TestParsersOfConfiguration(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, text := range configBombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "parsers", "agent.hcl: "+name)
			a := newArena(t, map[string]string{"agent.hcl": text})
			a.arm()
			for _, v := range a.survives("list") {
				t.Errorf("%s: %s", v.check, v.what)
			}
		})
	}
}

// survives runs the program and reports a bad end: too much work, or a crash.
func (a *arena) survives(args ...string) []violation {
	cmd := a.program(nil, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Run()
	var found []violation
	if took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); took > costly {
		found = append(found, violation{checkAlive, fmt.Sprintf("it took %s of the processors' time", took)})
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 2 || strings.Contains(out.String(), "goroutine ") {
		found = append(found, violation{checkAlive, fmt.Sprintf("it ended with %d: %.500s", code, out.String())})
	}
	if out.Len() > 1<<20 {
		found = append(found, violation{checkResult, fmt.Sprintf("it printed %d bytes", out.Len())})
	}
	return append(append(found, a.inspect(out.String())...), a.ended()...)
}

// taskBombs are Taskfiles of the same kind.
var taskBombs = map[string]string{
	"laughter": "version: '3'\nx0: &x0 [a,a,a,a,a,a,a,a,a]\n" + laughter() +
		"tasks:\n  a:\n    desc: a\n    vars: {V: *x8}\n    cmds: ['true']\n",
	"templates that double": "version: '3'\nvars:\n  A0: xxxxxxxxxxxxxxxx\n" + doublingTemplates() +
		"tasks:\n  a: {desc: a, cmds: ['true']}\n",
	"nested lists": "version: '3'\nx: " + strings.Repeat("[", 50000) + strings.Repeat("]", 50000) + "\n",
	"nested maps": "version: '3'\nx: " + strings.Repeat("{a: ", 20000) + "1" + strings.Repeat("}", 20000) +
		"\n",
	"an alias of itself":     "version: '3'\nx: &x [*x]\ntasks: {}\n",
	"includes itself":        "version: '3'\nincludes:\n  me: ./Taskfile.yml\ntasks:\n  a: {desc: a, cmds: ['true']}\n",
	"includes from a server": "version: '3'\nincludes:\n  far: http://{CANARY}/Taskfile.yml\ntasks:\n  a: {desc: a, cmds: ['true']}\n",
	"includes from git": "version: '3'\nincludes:\n  far: https://{CANARY}/x.git//Taskfile.yml?ref=main\n" +
		"tasks:\n  a: {desc: a, cmds: ['true']}\n",
	"includes from outside": "version: '3'\nincludes:\n  out: {OUT}/secret.txt\ntasks:\n  a: {desc: a, cmds: ['true']}\n",
	"reads variables outside": "version: '3'\ndotenv: ['{HOME}/.aws/credentials', '{OUT}/secret.txt']\ntasks:\n" +
		"  a: {desc: a, cmds: ['echo $aws $outside']}\n",
	"runs a shell to list": "version: '3'\nvars:\n  V: {sh: 'touch {OUT}/owned'}\ntasks:\n  a: {desc: '{{.V}}', cmds: ['true']}\n",
	"works outside": "version: '3'\ntasks:\n  a: {desc: a, dir: '{OUT}', cmds: ['touch owned; cat " +
		"secret.txt >/dev/null; echo done']}\n",
	"not YAML": "\x00\x01\x02 ][",
}

func laughter() string {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i+1, i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i), 9), ","))
	}
	return b.String()
}

func doublingTemplates() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "  A%d: '{{.A%d}}{{.A%d}}'\n", i+1, i, i)
	}
	return b.String()
}

func TestParsersOfTaskfiles(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, text := range taskBombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			a.write(a.ws, ".agent/Taskfile.yml", a.fill(text), 0o644)
			a.write(a.ws, "agent.hcl", "sandbox {\n  memory = \"512MiB\"\n}\n", 0o644) // several run at one time
			a.arm()
			h := a.serve(nil)
			for _, call := range [][2]string{{"list_commands", `{}`}, {"run_command", `{"command":"a"}`}} {
				r := oneOverMCPResult(t, h,
					attack{group: "parsers", name: "Taskfile " + call[0] + ": " + name, tool: call[0], params: call[1]})
				assert.Less(t, r.elapsed, slow)
			}
			assert.Empty(t, h.stop())
		})
	}
}

// inputBombs are tool parameters that are hard to process.
func inputBombs(t *testing.T) []attack {
	str := func(v any) string {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return string(data)
	}
	var list []attack
	add := func(name, tool, params string) {
		list = append(list, attack{group: "parsers", name: name, tool: tool, params: params})
	}
	for name, pattern := range map[string]string{
		"nested stars": `(a*)*(a*)*(a*)*b`, "backtracking": `(a+)+$`, "large repeats": `((a{1000}){1000}){1000}`,
		"many groups": strings.Repeat("(", 5000) + strings.Repeat(")", 5000),
		"unclosed":    `(((`, "lookahead": `(?=a)b`, "backreference": `(a)\1`,
		"long": strings.Repeat("a|", 50000) + "b",
		"NUL":  "a\x00b",
	} {
		add("rg pattern: "+name, "rg", str(map[string]string{"pattern": pattern}))
	}
	for name, pattern := range map[string]string{
		"braces": strings.Repeat("{a,b}", 40), "nested braces": strings.Repeat("{a,", 200) + strings.Repeat("}", 200),
		"stars":          strings.Repeat("**/", 200) + "x",
		"question marks": strings.Repeat("*?", 200) + "x", "unclosed class": "[", "long": strings.Repeat("a", 100000),
		"range": "[" + strings.Repeat("a-z", 10000) + "]",
	} {
		add("glob pattern: "+name, "glob", str(map[string]string{"pattern": pattern}))
	}
	add("deep parameters", "write_file", strings.Repeat(`{"a":`, 400)+"1"+strings.Repeat("}", 400))
	add("deep list", "todowrite", `{"todos_json":`+strings.Repeat("[", 400)+strings.Repeat("]", 400)+`}`)
	add("deep list in a string", "todowrite", str(map[string]string{"todos_json": strings.Repeat("[", 200000)}))
	add("a number beyond all", "multi_edit",
		`{"file_path":"ok.txt","edits":[{"old_string":"fine","new_string":"x","replace_all":1e999999}]}`)
	add("a key twice", "read_file", `{"path":"ok.txt","path":"../outside/secret.txt"}`)
	add("a key in another case", "read_file", `{"path":"ok.txt","Path":"../outside/secret.txt"}`)
	add("a lone surrogate", "write_file", `{"path":"a\ud800.txt","content":"\udfff"}`)
	add("parameters that are a list", "read_file", `["ok.txt"]`)
	add("parameters that are null", "read_file", `null`)
	add("parameters of wrong types", "read_file", `{"path":{"a":1}}`)
	add("many edits", "multi_edit",
		str(map[string]any{"file_path": "ok.txt",
			"edits": slicesOf(20000, map[string]string{"old_string": "fine", "new_string": "fine2"})}))
	add("an edit that grows", "multi_edit",
		str(map[string]any{"file_path": "grow.txt",
			"edits": slicesOf(25,
				map[string]any{"old_string": "a", "new_string": strings.Repeat("a", 100), "replace_all": true})}))
	add("many todos", "todowrite",
		str(map[string]string{"todos_json": str(slicesOf(20000,
			map[string]string{"content": "x", "status": "pending", "priority": "low"}))}))
	add("html: nested", "html_to_markdown", `{"path":"nested.html"}`)
	add("html: entities", "html_to_markdown", `{"path":"entities.html"}`)
	add("html: a table of a million cells", "html_to_markdown", `{"path":"table.html"}`)
	add("html: unclosed", "html_to_markdown", `{"path":"unclosed.html"}`)
	return list
}

func slicesOf[T any](n int, v T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = v
	}
	return list
}

func TestParsersOfInput(t *testing.T) {
	t.Parallel()
	a := newArena(t, map[string]string{
		"grow.txt":      "a\n",
		"aaaa.txt":      strings.Repeat("a", 5000) + "!\n",
		"nested.html":   strings.Repeat("<div>", 50000) + "x",
		"entities.html": strings.Repeat("&amp;&#x26;&notanentity;", 50000),
		"table.html":    "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td>x", 100)+"</tr>", 2000) + "</table>",
		"unclosed.html": strings.Repeat("<a href='x", 20000),
	})
	a.arm()
	h := a.serve(nil)
	for _, x := range inputBombs(t) {
		r := oneOverMCPResult(t, h, x)
		assert.Less(t, r.elapsed, slow, x.name)
	}
	assert.Empty(t, h.stop())
}

// TestParsersOfPatches gives apply_patch hostile patches.
func TestParsersOfPatches(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{"a.txt": strings.Repeat("same\n", 20000)})
	a.arm()
	h := a.serve(nil, "--toolset", "agentbench")
	for name, diff := range map[string]string{
		"huge counts":     "--- a/a.txt\n+++ b/a.txt\n@@ -1,999999999 +1,999999999 @@\n same\n",
		"counts beyond":   "--- a/a.txt\n+++ b/a.txt\n@@ -1,99999999999999999999 +1 @@\n same\n",
		"negative counts": "--- a/a.txt\n+++ b/a.txt\n@@ --1,-1 +-1,-1 @@\n same\n",
		"many files":      strings.Repeat("--- /dev/null\n+++ b/many/x\n@@ -0,0 +1 @@\n+x\n", 5000),
		"many hunks":      "--- a/a.txt\n+++ b/a.txt\n" + strings.Repeat("@@ -1 +1 @@\n-none\n+x\n", 5000),
		"hard to place": "--- a/a.txt\n+++ b/a.txt\n@@ -9000,2000 +9000,2000 @@\n" + strings.Repeat(" same\n", 1999) +
			"-other\n+x\n",
		"one long line": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-same\n+" + strings.Repeat("x", 4<<20) + "\n",
		"no diff":       strings.Repeat("hello\n", 10000),
		"NUL":           "--- a/a\x00b\n+++ b/a\x00b\n@@ -1 +1 @@\n-x\n+y\n",
		"binary":        "diff --git a/b b/b\nnew file mode 100644\nGIT binary patch\nliteral 999999999\nzcmV\n\n",
		"all at signs":  strings.Repeat("@", 1<<20),
	} {
		data, err := json.Marshal(map[string]string{"unified_diff": diff})
		require.NoError(t, err)
		r := oneOverMCPResult(t, h,
			attack{group: "parsers", name: "patch: " + name, tool: "apply_patch", params: string(data)})
		assert.Less(t, r.elapsed, slow, name)
	}
	assert.Empty(t, h.stop())
}

func TestParserControls(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for name, text := range map[string]string{
		// What the guard before the parser is for: the parser alone.
		"nested brackets":    "locals { a = " + strings.Repeat("[", 300000) + " }",
		"nested parentheses": "locals { a = " + strings.Repeat("(", 300000) + " }",
	} {
		t.Run(name, func(t *testing.T) {
			if name != "nested brackets" {
				testneed.NotShort(t, "one overflow of the stack is enough")
			}
			cmd := exec.Command(self)
			cmd.Env = testproc.Environment(t.TempDir(), "ATTACK_ROLE=hcl")
			cmd.Stdin = strings.NewReader(text)
			out, err := cmd.CombinedOutput()
			var found []violation
			if err != nil {
				found = append(found, violation{checkAlive, fmt.Sprintf("%v %.200s", err, out)})
			}
			control(t, "parsers", name, checkAlive, found)
		})
	}
}
