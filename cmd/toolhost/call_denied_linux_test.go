package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestDenialsAreNamed has confined commands fail because a grant is missing, which the error names.
// With the grant, the same failure has another reason.
func TestDenialsAreNamed(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	testneed.Program(t, "bash")
	const network = `bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'`
	report := sandbox.Detect(t.Context())
	for level, verdict := range map[sandbox.Level]sandbox.Verdict{sandbox.Full: report.Full,
		sandbox.Landlock: report.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			if !verdict.Works {
				testneed.Missing(t, "sandbox level "+string(level)+" does not work here: "+verdict.Reason)
			}
			base := testneed.VisibleDir(t)
			home, outside := filepath.Join(base, "home"), filepath.Join(base, "outside")
			require.NoError(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
			require.NoError(t, os.Mkdir(outside, 0o755))
			line := func(name, more string) string {
				return "tool \"" + name +
					"\" {\n  description = \"Run. Returns: it.\"\n  param \"line\" { type = string }\n" + more +
					"  command { argv = [\"sh\", \"-c\", param.line] }\n}\n"
			}
			plant(t, base, map[string]string{
				"home/.ssh/id": "key\n",
				"project/agent.hcl": line("plain", "") +
					line("granted", "network = \"allow\"\nwrite = [\""+outside+"\"]\n") +
					line("reads", "risk = \"read_only\"\n") +
					"sandbox { level = \"" + string(level) + "\" }\npolicy {\n  dangerous = \"allow\"\n}\n",
				"project/.agent/Taskfile.yml": "version: '3'\ntasks:\n  try:\n    desc: try\n    cmds: ['sh -c {{.CLI_ARGS}}']\n",
			})
			call := func(args ...string) string {
				cmd := program(t, filepath.Join(base, "project"), append([]string{"call", "--yes"}, args...)...)
				cmd.Env = append(environment(home), "TOOLHOST_TRUST=1")
				out, err := cmd.CombinedOutput()
				require.Error(t, err, string(out))
				return strings.Join(strings.Fields(string(out)), " ")
			}
			noNetwork := `no network in the sandbox: network = ["HOST"] in `
			if level == sandbox.Landlock {
				noNetwork = `no network in the sandbox: network = "allow" in `
			}
			assert.Contains(t, call("plain", "line="+network), noNetwork+`tool "plain" (agent.hcl:1)`)
			assert.NotContains(t, call("granted", "line=echo 'could not resolve host'; exit 1"), "sandbox:")
			if os.Getuid() == 0 { // for others the outside directory is in their home, where the sandbox shows none
				assert.Contains(t, call("plain", "line=echo x > "+outside+"/new"),
					outside+`/new is read-only in the sandbox. Let the program write below`)
			}
			assert.NotContains(t, call("granted", "line=echo x > "+outside+"/none/new"), "in the sandbox")
			assert.Contains(t, call("plain", "line=echo x > agent.hcl; echo x > $PWD/agent.hcl"),
				"agent.hcl decides what agents may do")
			assert.Contains(t, call("reads", "line=echo x > new"), `risk = "safe_write" in tool "reads"`)
			assert.Contains(t, call("plain", "line=cat "+home+"/.ssh/id"), `The sandbox hides `+home+`/.ssh/id`)
			assert.NotContains(t, call("plain", "line=echo 'fork/exec out/x: permission denied'; exit 1"),
				"in the sandbox", "relative paths are not taken for absolute ones")
			assert.NotContains(t, call("plain", "line=cat /nowhere /etc/passwd/x; chmod 0 f; false"), "in the sandbox")
			assert.Contains(t, call("run_command", "command=try",
				"args='"+strings.ReplaceAll(network, "'", `'\''`)+"'"), noNetwork+"a taskfile block of agent.hcl")
			cmd := program(t, filepath.Join(base, "project"), "serve")
			cmd.Env = append(environment(home), "TOOLHOST_TRUST=1")
			server := serveCommand(t, cmd)
			server.hello()
			over := server.call("plain", `{"line":"`+network+`"}`)
			assert.True(t, over.IsError)
			assert.Contains(t, over.text(), noNetwork+`tool "plain" (agent.hcl:1)`, "over MCP")
			assert.Zero(t, server.end())
			for toolset, tool := range map[string]string{"cliagent": "run_in_terminal", "ocode": "bash",
				"agentbench": "run"} {
				assert.Contains(t, call("--toolset", toolset, tool, "command="+network),
					"the sandbox block of agent.hcl", toolset)
			}
		})
	}
}

// TestDenialsAtStartsAreNamed has a plugin and an MCP server fail at their start for lack of network;
// the list of tools says what to do.
func TestDenialsAtStartsAreNamed(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	const complaint = "echo 'fetch failed: getaddrinfo EAI_AGAIN api.example' >&2; exit 1"
	report := sandbox.Detect(t.Context())
	if !report.Full.Works && !report.Landlock.Works {
		testneed.Missing(t, "no sandbox works here: "+report.Landlock.Reason)
	}
	dir := testneed.VisibleDir(t)
	config := func(network string) string {
		return "plugin \"fetch\" {\n  source = \"./fetch\"\n  network = \"" + network + "\"\n}\n" +
			"mcp \"remote\" {\n  command = [\"sh\", \"-c\", \"" + complaint + "\"]\n  network = \"" + network +
			"\"\n}\n"
	}
	plant(t, dir, map[string]string{"fetch": "#!/bin/sh\n" + complaint + "\n"})
	require.NoError(t, os.Chmod(filepath.Join(dir, "fetch"), 0o755))
	list := func(network string) string {
		plant(t, dir, map[string]string{"agent.hcl": config(network)})
		out, err := program(t, dir, "list").CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.Join(strings.Fields(string(out)), " ")
	}
	denied := list("deny")
	assert.Contains(t, denied, `network = ["HOST"] in plugin "fetch" of agent.hcl grants it`)
	assert.Contains(t, denied, `network = ["HOST"] in mcp "remote" of agent.hcl grants it`)
	granted := list("allow")
	assert.Contains(t, granted, "EAI_AGAIN")
	assert.NotContains(t, granted, "in the sandbox")
}
