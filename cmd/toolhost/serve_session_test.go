package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

const sleepers = `tool "nap" {
  description = "Sleep with children. Returns: nothing."
  risk        = "safe_write" # it writes pid
  command {
    argv = ["sh", "-c", "echo started; sleep 600 & setsid sleep 600 & echo $$ > pid; sleep 600"]
  }
}
`

const sleepingTasks = `version: '3'
tasks:
  nap:
    desc: Sleep with children
    cmds:
      - echo $$ > taskpid; sleep 600 & sleep 600
`

func sleepyServer(t *testing.T) (string, *rpcServer) {
	t.Helper()
	testneed.OnlyOn(t, "linux", "processes are looked up in /proc")
	testneed.Program(t, "setsid")
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": sleepers, ".agent/Taskfile.yml": sleepingTasks})
	return dir, serve(t, dir)
}

// inside lists the processes that work in dir.
func inside(dir string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return found
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testproc.Until(t, what, func() (bool, string) { return ok(), "" })
}

func exists(parts ...string) bool {
	_, err := os.Stat(filepath.Join(parts...))
	return err == nil
}

func noneLeft(t *testing.T, dir string) {
	t.Helper()
	testproc.Until(t, "no process is left", func() (bool, string) {
		left := inside(dir)
		return len(left) == 0, strings.Join(left, "\n")
	})
	assert.Empty(t, inside(dir), "processes left over")
}

func TestEOFEndsTheServerAtOnceWithNothingLeftRunning(t *testing.T) {
	dir, s := sleepyServer(t)
	s.startCall("nap", `{}`)
	s.startCall("run_command", `{"command":"nap"}`)
	s.call("read_file", `{"path":"agent.hcl"}`) // starts the plugin
	eventually(t, "both commands run", func() bool { return exists(dir, "pid") && exists(dir, "taskpid") })
	ended := time.Now()
	assert.Zero(t, s.end())
	assert.Less(t, time.Since(ended), time.Minute)
	noneLeft(t, dir)
	assert.Empty(t, s.noise)
	assert.NotContains(t, s.log(), "✗")
}

func TestRequestsBeforeTheEndOfInputAreAnswered(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"a.txt": "here\n"})
	cmd := program(t, dir, "serve")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"todoread","arguments":{}}}
`)
	out, err := cmd.Output()
	require.NoError(t, err)
	for id := 1; id <= 3; id++ {
		assert.Contains(t, string(out), fmt.Sprintf(`"id":%d,"result"`, id))
	}
}

func TestCancellationEndsTheCommandAndItsChildren(t *testing.T) {
	dir, s := sleepyServer(t)
	id := s.startCall("nap", `{}`)
	eventually(t, "it runs", func() bool { return exists(dir, "pid") })
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	eventually(t, "only the server is left", func() bool { return len(inside(dir)) == 1 })
	assert.False(t, s.call("todoread", `{}`).IsError, "the server goes on")
}

func TestInterruptEndsACallOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": sleepers})
	cmd := program(t, dir, "call", "nap")
	require.NoError(t, cmd.Start())
	eventually(t, "it runs", func() bool { return exists(dir, "pid") })
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	assert.Equal(t, 130, cmd.ProcessState.ExitCode())
	if runtime.GOOS == "linux" {
		noneLeft(t, dir)
	}
}

func TestPluginsDoNotOutliveAKilledServer(t *testing.T) {
	testneed.OnlyOn(t, "linux", "processes are looked up in /proc")
	dir := t.TempDir()
	s := serve(t, dir)
	assert.False(t, s.call("write_file", `{"path":"a","content":"x"}`).IsError)
	home := envOf(s, "HOME")
	require.NoError(t, s.cmd.Process.Kill())
	s.exit()
	eventually(t, "no process with the server's home is left", func() bool { return !anyWithEnv("HOME=" + home) })
}

// needsFull skips a test of sandbox level full if it does not work.
func needsFull(t *testing.T) {
	t.Helper()
	if full := sandbox.Detect(t.Context()).Full; !full.Works {
		testneed.Missing(t, "sandbox level full does not work here: "+full.Reason)
	}
}

// Without a sandbox the kernel ends the commands with the server, but not their children; level full
// ends all.
func TestNothingOutlivesAKilledServerInTheSandbox(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	testneed.Program(t, "setsid")
	dir := t.TempDir()
	needsFull(t)
	plant(t, dir,
		texts{"agent.hcl": "sandbox {\n  level = \"full\"\n}\n" + sleepers, ".agent/Taskfile.yml": sleepingTasks})
	s := serve(t, dir)
	s.startCall("nap", `{}`)
	s.startCall("run_command", `{"command":"nap"}`)
	eventually(t, "both commands run", func() bool { return exists(dir, "pid") && exists(dir, "taskpid") })
	require.NoError(t, s.cmd.Process.Kill())
	s.exit()
	noneLeft(t, dir)
}

func envOf(s *rpcServer, name string) string {
	for _, entry := range s.cmd.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

func anyWithEnv(entry string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err == nil && bytes.Contains(data, []byte(entry+"\x00")) {
			return true
		}
	}
	return false
}

func TestABrokenMessageDoesNotEndTheServer(t *testing.T) {
	s := serve(t, t.TempDir())
	for _, line := range []string{
		"{nope", "[]", `"text"`, "", `{"jsonrpc":"2.0","id":99}`, `{"jsonrpc":"1.0","id":98,"method":"ping"}`,
		`{"id":97}`, "\x00\x01", `{"jsonrpc":"2.0","method":"no/such/notification"}`, strings.Repeat("[", 100_000),
	} {
		s.send(line)
	}
	for name, method := range map[string]string{"no such method": "no/such", "no params": "tools/call"} {
		m := s.request(method, nil)
		require.NotNil(t, m.Error, name)
		assert.Negative(t, m.Error.Code)
	}
	m := s.request("tools/call", map[string]any{"name": 5})
	require.NotNil(t, m.Error)
	s.until("the answer without an id to a message without one",
		func() bool { return s.answers["null"] != nil && s.answers["null"].Error != nil })
	assert.False(t, s.call("todoread", `{}`).IsError)
	assert.Zero(t, s.end())
	assert.Empty(t, s.noise, "nothing but protocol on stdout")
}

func TestAMessageThatIsTooLongIsRefusedAndTheServerGoesOn(t *testing.T) {
	testneed.NotShort(t, "internal/face/mcpserve has the bound")
	s := serve(t, t.TempDir())
	s.send(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a",` +
		`"content":"` + strings.Repeat("x", 9<<20) + `"}}}`)
	s.until("the refusal", func() bool { return s.answers["null"] != nil || s.answers["77"] != nil })
	assert.False(t, s.call("todoread", `{}`).IsError)
}

func TestUnknownToolsAndParametersOverMCP(t *testing.T) {
	s := serve(t, t.TempDir())
	m := s.request("tools/call", map[string]any{"name": "haed", "arguments": map[string]any{}})
	require.NotNil(t, m.Error, "an unknown tool is a protocol error")
	assert.Equal(t, -32602, m.Error.Code)
	assert.Contains(t, m.Error.Message, `"head"`, "with the nearest name")
	r := s.call("head", `{"agrs":"x","more":1}`)
	assert.True(t, r.IsError)
	assert.Contains(t, r.text(), `did you mean "args"`)
	assert.Contains(t, r.text(), "more")
	for _, arguments := range []string{`"text"`, `[]`, `5`} {
		r := s.call("head", arguments)
		assert.True(t, r.IsError)
		assert.Contains(t, r.text(), "object")
	}
	assert.False(t, s.call("head", `null`).IsError, "no arguments are none")
	assert.Contains(t, s.call("read_file", `{"path":"a","path":"b"}`).text(), "twice")
}

func TestProgressWhereTheClientAsksForIt(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{".agent/Taskfile.yml": "version: '3'\ntasks:\n  talk:\n    desc: Talk\n    cmds:\n" +
		"      - for i in 1 2 3; do echo line $i; sleep 0.1; done\n"})
	s := serve(t, dir)
	id := s.start("tools/call", map[string]any{
		"name": "run_command", "arguments": map[string]any{"command": "talk"},
		"_meta": map[string]any{"progressToken": "tok"},
	})
	assert.False(t, s.result(id).IsError)
	assert.Positive(t, s.noted("notifications/progress"))
	before := s.noted("notifications/progress")
	assert.False(t, s.call("run_command", `{"command":"talk"}`).IsError)
	assert.Equal(t, before, s.noted("notifications/progress"), "nobody asked")
}

func TestListChangedOnAgentHCL(t *testing.T) {
	const changed = "notifications/tools/list_changed"
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "workspace {\n  root = \".\"\n}\n"})
	s := serve(t, dir)
	assert.NotContains(t, s.offered(), "extra")
	plant(t, dir, texts{"agent.hcl": "tool \"extra\" {\n  description = \"Added. Returns: hi.\"\n" +
		"  risk = \"read_only\"\n  command {\n    argv = [\"echo\", \"hi\"]\n  }\n}\n"})
	s.until(changed, func() bool { return s.notedLocked(changed) > 0 })
	assert.Contains(t, s.offered(), "extra")
	assert.Equal(t, "hi\n", s.call("extra", `{}`).text())

	// A broken one changes nothing, and the log says where it is broken.
	plant(t, dir, texts{"agent.hcl": "tool \"extra\" {\n  descripton = 1\n}\n"})
	s.until("the log", func() bool { return strings.Contains(s.stderr.String(), "descripton") })
	assert.Contains(t, s.offered(), "extra")
	assert.Equal(t, "hi\n", s.call("extra", `{}`).text())

	before := s.noted(changed)
	require.NoError(t, os.Remove(filepath.Join(dir, "agent.hcl")))
	s.until(changed, func() bool { return s.notedLocked(changed) > before })
	// A write is not one step: the log may refer to the file before.
	eventually(t, "the tool is gone", func() bool { return !slices.Contains(s.offered(), "extra") })
}

func TestListChangedOnTheTaskfile(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	const changed = "notifications/tools/list_changed"
	dir := t.TempDir()
	s := serve(t, dir)
	assert.Contains(t, s.call("list_commands", `{}`).text(), `"commands":[]`)
	plant(t, dir, texts{".agent/Taskfile.yml": "version: '3'\ntasks:\n  one:\n    desc: First\n    cmds: [echo 1]\n"})
	s.until(changed, func() bool { return s.notedLocked(changed) > 0 })
	assert.Contains(t, s.call("list_commands", `{}`).text(), `"name":"one"`)
	assert.Contains(t, s.call("run_command", `{"command":"one"}`).text(), "1")
	plant(t, dir, texts{".agent/Taskfile.yml": "version: '3'\ntasks:\n  two:\n    desc: Second\n    cmds: [echo 2]\n"})
	assert.Contains(t, s.call("list_commands", `{}`).text(), `"name":"two"`, "read afresh, whether noticed yet or not")
	assert.Contains(t, s.call("run_command", `{"command":"one"}`).text(), "not found")
}

func TestAHundredCallsAtOnce(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"in.txt": "line 1\nline 2\n", "log": ""})
	s := serve(t, dir)
	var ids []string
	for n := range 100 {
		switch n % 4 {
		case 0:
			ids = append(ids, s.startCall("append_file", `{"path":"log","content":"x\n"}`))
		case 1:
			ids = append(ids, s.startCall("head", `{"args":"-n 1 in.txt"}`))
		case 2:
			ids = append(ids, s.startCall("read_file", `{"path":"in.txt"}`))
		case 3:
			ids = append(ids, s.startCall("edit_file", fmt.Sprintf(`{"path":"f%d","old_str":"","new_str":"%d"}`, n, n)))
		}
	}
	for n, id := range ids {
		r := s.result(id)
		assert.False(t, r.IsError, "%d: %s", n, r.text())
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("x\n", 25), string(log), "no append is lost")
}

func TestTodosPersistWithinTheSessionOnly(t *testing.T) {
	dir := t.TempDir()
	one, two := serve(t, dir), serve(t, dir)
	list := `{"todos_json":"[{\"content\":\"x\",\"status\":\"pending\",\"priority\":\"high\"}]"}`
	assert.False(t, one.call("todowrite", list).IsError)
	refused := one.call("todowrite", strings.Replace(list, "pending", "bad", 1))
	assert.True(t, refused.IsError)
	var read struct{ Title, Output string }
	require.NoError(t, json.Unmarshal(one.call("todoread", `{}`).Structured, &read))
	assert.Equal(t, "1 todos", read.Title)
	assert.JSONEq(t, `[{"id":"task-1","content":"x","status":"pending","priority":"high"}]`, read.Output,
		"a refused list leaves the old one")
	require.NoError(t, json.Unmarshal(two.call("todoread", `{}`).Structured, &read))
	assert.Equal(t, "0 todos", read.Title)
}

func TestLargeResultsSayHowMuchIsLeftOutAndHowToGetTheRest(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"big": strings.Repeat("0123456789abcde\n", 64<<10)}) // 1 MiB
	s := serve(t, dir)
	r := s.call("head", `{"args":"-n 100000 big"}`)
	assert.False(t, r.IsError)
	text := r.text()
	assert.Less(t, len(text), 200<<10)
	assert.Contains(t, text, "left out")
	named := regexp.MustCompile(`whole output is in (.+) \.\.\.\]`).FindStringSubmatch(text)
	require.NotNil(t, named, "the result names the file with the whole output")
	path := named[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, 1<<20, info.Size())
	assert.Equal(t, "0123456789abcde\n", s.call("tail", `{"args":"-n 1 '`+path+`'"}`).text(),
		"and the agent can read it")
}

func TestAFailureWithLongOutputShowsItsEnd(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": `tool "long" {
  description = "Prints much and fails."
  risk        = "read_only"
  command { argv = ["sh", "-c", "seq 30000; echo THE-END; exit 1"] }
}`})
	r := serve(t, dir).call("long", `{}`)
	assert.True(t, r.IsError)
	assert.Regexp(t, `^sh failed with exit code 1\nstdout:\n1\n2\n`, r.text())
	assert.Regexp(t, `\n30000\nTHE-END\n\[\d+ of 168902 bytes are shown; the whole output is in \S+_stdout\.txt\]\n`+
		`It was called as: sh`, r.text())
}
