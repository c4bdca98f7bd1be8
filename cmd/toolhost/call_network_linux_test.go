package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// needsNames skips a test if no process can reach hosts by name, or without bash, whose /dev/tcp looks
// names up as other programs do.
func needsNames(t *testing.T) {
	t.Helper()
	needsFull(t)
	testneed.Program(t, "bash")
}

// namesLead returns an environment in which every name leads toolhost to one server, by the operator's
// proxy. The server answers "HOST says hello".
func namesLead(t *testing.T) (env []string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" says hello")
	}))
	t.Cleanup(web.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		to, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			return
		}
		from, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(to, buffered)
			_ = to.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(from, to)
		_ = from.Close()
		_ = to.Close()
	}))
	t.Cleanup(proxy.Close)
	return []string{"HTTP_PROXY=" + proxy.URL, "HTTPS_PROXY=" + proxy.URL, "NO_PROXY=", "no_proxy="}
}

// fetching is an agent.hcl with a tool that fetches hosts' pages with bash only.
func fetching(network string, hosts ...string) texts {
	return texts{
		"fetch.sh": "for host in " + strings.Join(hosts, " ") + "; do\n" +
			"  exec 3<>/dev/tcp/$host/80 || exit 1\n" +
			"  printf 'GET / HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n' $host >&3 || exit 1\n  cat <&3 || exit 1\n  echo\ndone\n",
		"agent.hcl": "sandbox {\n  level = \"full\"\n}\ntool \"fetch\" {\n  description = \"Fetches.\"\n  network = " + network +
			"\n  command {\n    argv = [\"bash\", \"fetch.sh\"]\n  }\n}\n",
	}
}

// The client's user is asked once for each host and call: while the connection waits, or with the
// newest revision after the call has failed, which then runs again.
func TestAskingThroughMCP(t *testing.T) {
	needsNames(t)
	for decision, c := range map[string]struct {
		asked   [2]int // by the first and second call
		reached bool
		said    string
	}{
		"once":    {[2]int{1, 1}, true, ""},
		"session": {[2]int{1, 0}, true, ""},
		"always":  {[2]int{1, 0}, true, ""},
		"deny":    {[2]int{1, 1}, false, "The sandbox refused a connection to a.example: the user refused it."},
		"":        {[2]int{1, 1}, false, `network = ["ask", "a.example"]`},
	} {
		t.Run(decision, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, fetching(`"ask"`, "a.example", "a.example"))
			cmd := exec.Command(filepath.Join(binaries, "toolhost"), "serve")
			cmd.Dir, cmd.Env = dir, append(environment(t.TempDir()), namesLead(t)...)
			var asked []string
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, r.Params.Message)
					if decision == "" {
						return &mcp.ElicitResult{Action: "cancel"}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}, nil
				},
			})
			session, err := client.Connect(t.Context(), pipes(cmd), nil)
			require.NoError(t, err)
			defer session.Close()
			for i := range c.asked {
				asked = nil
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fetch", Arguments: map[string]any{}})
				require.NoError(t, err)
				text := r.Content[0].(*mcp.TextContent).Text
				assert.Equal(t, !c.reached, r.IsError, text)
				assert.Equal(t, c.reached, strings.Contains(text, "a.example says hello"), text)
				assert.Contains(t, text, c.said)
				if assert.Len(t, asked, c.asked[i], "call %d", i+1) && len(asked) > 0 {
					assert.Contains(t, asked[0], "Let Fetch reach a.example:80?")
				}
			}
			if decision == "always" {
				list := program(t, dir, "rules", "list")
				list.Env = cmd.Env
				out, err := list.CombinedOutput()
				require.NoError(t, err)
				assert.Contains(t, string(out), "connections to a.example:80")
			}
		})
	}
}

// If the client cannot ask, the connection is refused with the way to allow it, and an approval on the
// command line is only for this connection of this call.
func TestAskingLater(t *testing.T) {
	needsNames(t)
	dir := t.TempDir()
	plant(t, dir, fetching(`["b.example", "ask"]`, "b.example", "a.example"))
	cmd := program(t, dir, "serve")
	cmd.Env = append(cmd.Env, namesLead(t)...)
	s := serveCommand(t, cmd)
	s.hello()
	waits := func() (id string) {
		t.Helper()
		r := s.call("fetch", `{}`)
		require.True(t, r.IsError, r.text())
		assert.Contains(t, r.text(), "b.example says hello", "what the list names is not asked about")
		assert.Contains(t, r.text(), `network = ["b.example", "ask", "a.example"]`)
		found := regexp.MustCompile("`toolhost approve ([a-z0-9]+)`").FindStringSubmatch(r.text())
		require.NotNil(t, found, r.text())
		return found[1]
	}
	id := waits()
	screen, code := onTerminal(t, dir, "n\nnot there\n", homeOf(s), "approve", id)
	assert.Equal(t, 3, code, screen)
	r := s.call("fetch", `{}`)
	assert.Contains(t, r.text(), "the user refused it and says: not there")

	screen, code = onTerminal(t, dir, "y\n", homeOf(s), "approve", waits())
	assert.Zero(t, code, screen)
	assert.Contains(t, screen, "a.example:80")
	r = s.call("fetch", `{}`)
	assert.False(t, r.IsError, r.text())
	assert.Contains(t, r.text(), "a.example says hello")

	_, code = onTerminal(t, dir, "always\n", homeOf(s), "approve", waits())
	assert.Zero(t, code)
	for range 2 {
		r = s.call("fetch", `{}`)
		assert.False(t, r.IsError, r.text())
	}
}

func TestAskingOnTheTerminalOfACall(t *testing.T) {
	needsNames(t)
	dir := t.TempDir()
	plant(t, dir, fetching(`"ask"`, "a.example"))
	env := namesLead(t)
	screen, code := onTerminalAt(t, dir, "Decision [", "once\n", env, "call", "fetch")
	assert.Zero(t, code, screen)
	assert.Contains(t, screen, "Let Fetch reach a.example:80?")
	assert.Contains(t, screen, "a.example says hello")
	screen, code = onTerminalAt(t, dir, "Decision [", "deny\n", env, "call", "fetch")
	assert.NotZero(t, code, screen)
	assert.Contains(t, screen, "the user refused it")

	cmd := program(t, dir, "call", "fetch")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "nobody is there")
	assert.Contains(t, string(out), `network = ["ask", "a.example"]`)
	cmd = program(t, dir, "call", "fetch", "--yes")
	cmd.Env = append(cmd.Env, env...)
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// A tool's hosts are learned from one call, in which the user allows each.
func TestLearning(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	needsNames(t)
	for _, network := range []string{`"deny"`, `"allow"`, `["a.example"]`} {
		dir := t.TempDir()
		plant(t, dir, fetching(network, "a.example", "b.example"))
		screen, code := onTerminalAt(t, dir, "Decision [", "once\nonce\n", namesLead(t), "call", "fetch", "--learn")
		assert.Zero(t, code, screen)
		assert.Contains(t, screen, `network = ["a.example", "b.example"]`, network)
		screen, _ = onTerminalAt(t, dir, "Decision [", "deny\ndeny\n", namesLead(t), "call", "fetch", "--learn")
		assert.NotContains(t, screen, `"b.example"]`, network)
	}
	_, stderr, code := runIn(t, t.TempDir(), "call", "tree", "--learn")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "--learn needs a terminal")
}

// A call in a view reaches the hosts of its list; a dry run reaches nothing, nor does a view with
// network = "allow".
func TestViewsReachTheList(t *testing.T) {
	needsNames(t)
	needsViews(t)
	review := "policy {\n  dangerous = \"review\"\n}\n"
	for network, reached := range map[string]bool{`["a.example"]`: true, `["b.example"]`: false, `"allow"`: false, `"deny"`: false} {
		dir := t.TempDir()
		files := fetching(network, "a.example")
		files["agent.hcl"] += review
		plant(t, dir, files)
		run := runsWithNames(t, dir)
		out := run("call", "fetch", "--yes")
		assert.Equal(t, reached, strings.Contains(out, "a.example says hello"), "%s: %s", network, out)
		out = run("call", "fetch", "--dry-run")
		assert.NotContains(t, out, "a.example says hello", network)
		if reached {
			ids := regexp.MustCompile(`(?m)^(\w+) .*fetch`).FindAllStringSubmatch(run("log"), -1)
			require.Len(t, ids, 2)
			assert.Contains(t, run("show", ids[0][1])+run("show", ids[1][1]), "a.example at", "it is in the record")
		}
	}
}

// Levels landlock and off cannot enforce a list: a block with one runs nothing.
func TestListsAreRefusedBelowFull(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Off} {
		t.Run(string(level), func(t *testing.T) { listsAreRefused(t, level) })
	}
}

func listsAreRefused(t *testing.T, level sandbox.Level) {
	if !sandbox.On(level).Works {
		testneed.Missing(t, "sandbox level landlock does not work here")
	}
	refused := "list of hosts (network = [...]) cannot be held at sandbox level " + string(level)
	const list = "  network = [\"a.example\"]\n"
	const command = "  command {\n    argv = [\"true\"]\n  }\n"
	dir := testneed.VisibleDir(t)
	plant(t, dir,
		texts{"p": "#!/bin/sh\nexit 1\n", ".agent/Taskfile.yml": "version: '3'\ntasks:\n  hi:\n    desc: Hi.\n    cmds: [\"true\"]\n"})
	require.NoError(t, os.Chmod(filepath.Join(dir, "p"), 0o755))
	for name, c := range map[string]struct {
		agent string
		args  []string
	}{
		"tool":     {"tool \"x\" {\n  description = \"X.\"\n" + list + command + "}\n", []string{"call", "x", "--yes"}},
		"sandbox":  {"sandbox {\n" + list + "}\ntool \"x\" {\n  description = \"X.\"\n" + command + "}\n", []string{"call", "x", "--yes"}},
		"ask":      {"tool \"x\" {\n  description = \"X.\"\n  network = \"ask\"\n" + command + "}\n", []string{"call", "x", "--yes"}},
		"taskfile": {"taskfile {\n" + list + "}\n", []string{"call", "run_command", "command=hi", "--yes"}},
		"plugin":   {"plugin \"p\" {\n  source = \"./p\"\n" + list + "}\n", []string{"list"}},
		"mcp":      {"mcp \"m\" {\n  command = [\"sh\", \"-c\", \"exit 1\"]\n" + list + "}\n", []string{"list"}},
		"agent": {"agent {\n  command = [\"sh\", \"-c\", \"exit 1\"]\n" + list + "}\n",
			[]string{"call", "--toolset", "clemini", "task", "prompt=x", "--yes"}},
		"resource": {"resource \"x\" {\n  uri = \"res://x\"\n" + list + command + "}\n", nil},
	} {
		plant(t, dir, texts{"agent.hcl": c.agent})
		var said string
		if c.args == nil {
			s := serveCommand(t, withLevel(program(t, dir, "serve"), level))
			s.hello()
			m := s.request("resources/read", map[string]string{"uri": "res://x"})
			require.NotNil(t, m.Error)
			said = m.Error.Message
		} else {
			out, _ := withLevel(program(t, dir, c.args...), level).CombinedOutput()
			said = string(out)
		}
		assert.Contains(t, strings.Join(strings.Fields(said), " "), refused, name)
	}
}

func withLevel(cmd *exec.Cmd, level sandbox.Level) *exec.Cmd {
	cmd.Env = append(cmd.Env, "TOOLHOST_SANDBOX="+string(level))
	return cmd
}

// The hosts that blocks reach are shown before anything runs.
func TestWhatIsReachedIsSaid(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	dir := t.TempDir()
	plant(t, dir, fetching(`["a.example", "*.example.org:8443", "ask"]`, "a.example"))
	plant(t, dir, texts{"agent.hcl": content(t, dir, "agent.hcl") + "tool \"wide\" {\n  description = \"Wide.\"\n  network = \"allow\"\n" +
		"  command {\n    argv = [\"true\"]\n  }\n}\ncredential \"unused\" {\n  host = \"b.example\"\n  value = env(\"HOME\")\n}\n"})
	const hosts = "a.example *.example.org:8443, and what you allow when asked"
	for _, args := range [][]string{{"describe", "fetch"}, {"explain", "fetch"}, {"doctor"}, {"trust", "--show"}} {
		stdout, stderr, _ := runIn(t, dir, args...)
		assert.Contains(t, strings.Join(strings.Fields(stdout+stderr), " "), hosts, args)
	}
	_, stderr, code := runIn(t, dir, "validate", "--strict")
	assert.Equal(t, 2, code)
	said := strings.Join(strings.Fields(stderr), " ")
	assert.Contains(t, said, "is every host and all ports of this machine")
	assert.Contains(t, said, "No block names b.example at port 443 in its network")
	stdout, stderr, code := runIn(t, dir, "validate")
	assert.Zero(t, code, stdout+stderr)
	assert.NotContains(t, stderr, "is every host")
}

// A toolset's own shell reaches the list, by the operator's proxy, which its commands do not see, and
// reports refused hosts.
func TestToolsetsSayWhatWasRefused(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	needsNames(t)
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "sandbox {\n  level = \"full\"\n  network = [\"b.example\"]\n}\n"})
	for toolset, tool := range map[string]string{"cliagent": "run_in_terminal", "ocode": "bash", "agentbench": "run"} {
		cmd := program(t, dir, "call", "--toolset", toolset, tool, "--yes",
			"command=bash -c 'exec 3<>/dev/tcp/b.example/80; printf \"GET / HTTP/1.0\\r\\nHost: b.example\\r\\n\\r\\n\" >&3; cat <&3; "+
				"env | grep -ci _proxy=; exec 3<>/dev/tcp/a.example/80'")
		cmd.Env = append(cmd.Env, namesLead(t)...)
		out, _ := cmd.CombinedOutput()
		assert.Contains(t, string(out), "b.example says hello", toolset)
		assert.Regexp(t, `hello(\\n|\s)*0`, string(out), toolset)
		said := strings.ReplaceAll(strings.Join(strings.Fields(string(out)), " "), `\"`, `"`)
		assert.Contains(t, said, `network = ["b.example", "a.example"]`, toolset)
	}
}

// A Taskfile command reports refused hosts, even if it succeeds.
func TestTasksSayWhatWasRefused(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	needsNames(t)
	for exit, code := range map[string]int{"exit 0": 0, "exit 3": 1} {
		dir := t.TempDir()
		plant(t, dir, texts{"fetch.sh": "(exec 3<>/dev/tcp/a.example/80)\n" + exit + "\n",
			"agent.hcl":           "taskfile {\n  network = [\"b.example\"]\n}\n",
			".agent/Taskfile.yml": "version: '3'\ntasks:\n  fetch:\n    desc: Fetches.\n    cmds: [bash fetch.sh]\n"})
		for _, args := range [][]string{{"run_command", "command=fetch"}, {"task", "args=fetch"}} {
			stdout, stderr, got := runIn(t, dir, append([]string{"call", "--yes"}, args...)...)
			assert.Equal(t, code == 0, got == 0, stdout+stderr)
			assert.Equal(t, 1, strings.Count(strings.Join(strings.Fields(stdout+stderr), " "), "The sandbox refused the network to a.example. "+
				`The user can allow that in agent.hcl: network = ["b.example", "a.example"].`), "%s %s: %s", exit, args, stdout+stderr)
		}
	}
}

// A background task's refused hosts are in its output, and its reached hosts are shown with the call
// that started it.
func TestBackgroundTasksSayWhatTheyReach(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	needsNames(t)
	dir := t.TempDir()
	plant(t, dir, fetching(`"deny"`, "b.example", "a.example"))
	plant(t, dir, texts{"agent.hcl": "sandbox {\n  level = \"full\"\n  network = [\"b.example\"]\n}\n"})
	cmd := program(t, dir, "serve", "--toolset", "clemini")
	cmd.Env = append(cmd.Env, namesLead(t)...)
	s := serveCommand(t, cmd)
	s.hello()
	const params = `{"command":"bash fetch.sh","run_in_background":true,"confirmed":true}`
	_, failed := s.clemini("bash", params)
	require.True(t, failed, "it asks first")
	started, failed := s.clemini("bash", params)
	require.False(t, failed, "%v", started)
	ended, _ := s.clemini("task_output", `{"wait":true,"task_id":"`+started["task_id"].(string)+`"}`)
	assert.Contains(t, ended["stdout"], "b.example says hello")
	assert.Contains(t, ended["stderr"], `toolhost: The sandbox refused the network to a.example. `+
		`The user can allow that in agent.hcl: network = ["b.example", "a.example"].`)
	token := "ghp_" + strings.Repeat("a1", 18)
	lookup := `{"command":": <>/dev/tcp/` + token + `.example/80","run_in_background":true,"confirmed":true}`
	_, _ = s.clemini("bash", lookup)
	started, failed = s.clemini("bash", lookup)
	require.False(t, failed, "%v", started)
	_, _ = s.clemini("task_output", `{"wait":true,"task_id":"`+started["task_id"].(string)+`"}`)
	require.Zero(t, s.end())
	out := func(args ...string) string {
		cmd := program(t, dir, args...)
		cmd.Env = append(cmd.Env, homeOf(s)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	var tasks []struct {
		Request string `json:"request_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(out("ps", "--all", "--json")), &tasks))
	require.Len(t, tasks, 2)
	said := out("show", tasks[0].Request)
	for _, want := range []string{"b.example at proxy", "a.example refused: the list does not name it"} {
		assert.Contains(t, said, want)
	}
	assert.Contains(t, out("show", tasks[0].Request, "--json"), `"host": "b.example"`)
	for _, format := range [][]string{nil, {"--json"}} {
		said := out(append([]string{"show", tasks[1].Request}, format...)...)
		assert.Contains(t, said, "[redacted].example")
		assert.NotContains(t, said, token)
	}
}

// talking is an MCP server in bash, with a tool that fetches a host's page.
const talking = `reply() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<<"$line")
  host=$(sed -n 's/.*"host":"\([a-z.]*\)".*/\1/p' <<<"$line")
  case $line in
  *'"method":"initialize"'*)
    reply "$id" '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"method":"tools/list"'*)
    reply "$id" '"result":{"tools":[{"name":"page","inputSchema":{"type":"object","properties":{"host":{"type":"string"}}}}]}' ;;
  *'"method":"tools/call"'*)
    page=$(exec 3<>/dev/tcp/$host/80 && printf 'GET / HTTP/1.0\r\nHost: %s\r\n\r\n' $host >&3 &&
      tail -n 1 <&3 2>&1) && failed=false || failed=true
    reply "$id" '"result":{"content":[{"type":"text","text":"'"$page"'"}],"isError":'$failed'}' ;;
  *'"id":'*) reply "$id" '"error":{"code":-32601,"message":"unknown"}' ;;
  esac
done
`

// runsWithNames returns a function that runs toolhost in dir where every name leads to namesLead's server.
func runsWithNames(t *testing.T, dir string) func(args ...string) (output string) {
	t.Helper()
	env := append(namesLead(t), "XDG_STATE_HOME="+t.TempDir())
	return func(args ...string) string {
		cmd := program(t, dir, args...)
		cmd.Env = append(cmd.Env, env...)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
}

// What the processes of a toolset's own commands reach, or are refused, is in the record as for other tools, and not
// in the result.
func TestConnectionsOfToolsetsAreKept(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	needsNames(t)
	dir := t.TempDir()
	files := fetching(`"deny"`, "a.example", "b.example")
	files["agent.hcl"] = "sandbox {\n  level = \"full\"\n  network = [\"a.example\"]\n}\n"
	plant(t, dir, files)
	run := runsWithNames(t, dir)
	for toolset, name := range map[string]string{"cliagent": "run_in_terminal", "ocode": "bash", "agentbench": "run"} {
		out := run("call", "--yes", "--json", "--toolset", toolset, name, "command=bash fetch.sh")
		assert.Contains(t, out, "a.example says hello", toolset)
		assert.NotContains(t, out, `"connections"`, toolset)
		call := regexp.MustCompile(`(?m)^(\w+) .*fetch`).FindStringSubmatch(run("log"))
		require.NotNil(t, call)
		shown := run("show", call[1])
		assert.Contains(t, shown, "a.example at proxy", toolset)
		assert.Contains(t, shown, "b.example refused", toolset)
	}
}

// What an MCP server's process reaches, or is refused, while it serves a call belongs to that call.
func TestConnectionsOfServersAreOfTheCall(t *testing.T) {
	testneed.NotShort(t, "makes many calls with lists of hosts; internal/run/network has the rules")
	needsNames(t)
	dir := t.TempDir()
	plant(t, dir, texts{"server.sh": talking,
		"agent.hcl": "mcp \"web\" {\n  command = [\"bash\", \"server.sh\"]\n  network = [\"a.example\"]\n}\n"})
	run := runsWithNames(t, dir)
	assert.Contains(t, run("call", "--yes", "page", "host=a.example"), "a.example says hello")
	assert.Contains(t, run("call", "--yes", "page", "host=b.example"), "The sandbox refused the network to b.example. "+
		`The user can allow that in agent.hcl: network = ["a.example", "b.example"].`)
	calls := regexp.MustCompile(`(?m)^(\w+) .*page`).FindAllStringSubmatch(run("log"), -1)
	require.Len(t, calls, 2)
	shown := run("show", calls[0][1]) + run("show", calls[1][1])
	assert.Contains(t, shown, "a.example at proxy")
	assert.Contains(t, shown, "b.example refused")
}
