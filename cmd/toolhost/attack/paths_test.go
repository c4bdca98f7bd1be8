package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// victim is a tool with a path parameter, {P}. In an args string the path is quoted.
type victim struct {
	tool, params string
	as           string // the path's role if the tool takes two
	dir          bool   // needs a directory
	unlinks      bool   // removes or moves a given symlink itself, which is harmless
	text         bool   // takes what is no readable path for a text
}

// victims are each toolset's tools that work on paths.
var victims = map[string][]victim{
	"agent": {
		{tool: "read_file", params: `{"path":"{P}"}`},
		{tool: "list_files", params: `{"path":"{P}"}`, dir: true},
		{tool: "write_file", params: `{"path":"{P}","content":"owned"}`},
		{tool: "append_file", params: `{"path":"{P}","content":"owned"}`},
		{tool: "edit_file", params: `{"path":"{P}","old_str":"outside","new_str":"owned"}`},
		{tool: "multi_edit", params: `{"file_path":"{P}","edits":[{"old_string":"outside","new_string":"owned"}]}`},
		{tool: "delete_file", params: `{"path":"{P}"}`, unlinks: true},
		{tool: "html_to_markdown", params: `{"path":"{P}"}`},
		{tool: "glob", params: `{"pattern":"{P}/*"}`, dir: true},
		{tool: "head", params: `{"args":"-n 1 '{P}'"}`},
		{tool: "tail", params: `{"args":"'{P}'"}`},
		{tool: "wc", params: `{"args":"-c '{P}'"}`},
		{tool: "cloc", params: `{"args":"'{P}'"}`},
		{tool: "rg", params: `{"pattern":"planted","args":"'{P}'"}`},
		{tool: "cp", as: "source", params: `{"args":"'{P}' stolen"}`},
		{tool: "cp", as: "target", params: `{"args":"ok.txt '{P}'"}`},
		{tool: "mv", as: "source", params: `{"args":"'{P}' stolen"}`, unlinks: true},
		{tool: "mv", as: "target", params: `{"args":"ok.txt '{P}'"}`},
		{tool: "rm", params: `{"args":"-rf '{P}'"}`, unlinks: true},
		{tool: "touch", params: `{"args":"'{P}'"}`},
		{tool: "mkdir", params: `{"args":"-p '{P}/new'"}`, dir: true},
	},
	"cliagent": {
		{tool: "create_file", params: `{"path":"{P}","content":"owned"}`},
		{tool: "read_file", params: `{"path":"{P}"}`},
		{tool: "replace_string_in_file", params: `{"path":"{P}","old_string":"outside","new_string":"owned"}`},
		{tool: "list_dir", params: `{"path":"{P}"}`, dir: true},
		{tool: "create_directory", params: `{"path":"{P}/new"}`, dir: true},
	},
	"agentbench": {
		{tool: "list_files", params: `{"root":"{P}"}`, dir: true},
		{tool: "read_file", params: `{"path":"{P}"}`},
		{tool: "apply_patch", params: `{"unified_diff":"--- a/{P}\n+++ b/{P}\n@@ -0,0 +1 @@\n+owned\n"}`},
	},
	"clemini": {
		{tool: "read_file", params: `{"file_path":"{P}"}`},
		{tool: "write_file", params: `{"file_path":"{P}","content":"owned"}`},
		{tool: "write_file", as: "with a backup", params: `{"file_path":"{P}","content":"owned","backup":true}`},
		{tool: "edit", params: `{"file_path":"{P}","old_string":"outside","new_string":"owned"}`},
		{tool: "edit", as: "new", params: `{"file_path":"{P}/new","new_string":"owned","create_if_not_exists":true}`,
			dir: true},
		{tool: "glob", params: `{"pattern":"*","directory":"{P}"}`, dir: true},
		{tool: "glob", as: "pattern", params: `{"pattern":"{P}/*"}`, dir: true},
		{tool: "grep", params: `{"pattern":"planted","directory":"{P}"}`, dir: true},
		{tool: "bash", params: `{"command":"cat secret.txt inner.txt; touch owned","working_directory":"{P}","confirmed":true}`, dir: true},
	},
	"anthropic": {
		{tool: "read", params: `{"file_path":"{P}"}`},
		{tool: "write", params: `{"file_path":"{P}","content":"owned"}`},
		{tool: "write", as: "new", params: `{"file_path":"{P}/new/file","content":"owned"}`, dir: true},
		{tool: "edit", params: `{"file_path":"{P}","old_string":"outside","new_string":"owned"}`},
		{tool: "str_replace_based_edit_tool", as: "view", params: `{"command":"view","path":"{P}"}`},
		{tool: "str_replace_based_edit_tool", as: "list", params: `{"command":"view","path":"{P}"}`, dir: true},
		{tool: "str_replace_based_edit_tool", as: "create",
			params: `{"command":"create","path":"{P}","file_text":"owned"}`},
		{tool: "str_replace_based_edit_tool", as: "replace",
			params: `{"command":"str_replace","path":"{P}","old_str":"outside","new_str":"owned"}`},
		{tool: "str_replace_based_edit_tool", as: "insert",
			params: `{"command":"insert","path":"{P}","insert_line":0,"insert_text":"owned"}`},
		{tool: "memory", as: "view", params: `{"command":"view","path":"/memories/{P}"}`},
		{tool: "memory", as: "create",
			params: `{"command":"create","path":"/memories/{P}/new","file_text":"owned"}`, dir: true},
		{tool: "memory", as: "rename",
			params: `{"command":"rename","old_path":"/memories/{P}","new_path":"/memories/stolen"}`},
		{tool: "glob", params: `{"pattern":"*","path":"{P}"}`, dir: true},
		{tool: "glob", as: "pattern", params: `{"pattern":"{P}/*"}`, dir: true},
		{tool: "grep", params: `{"pattern":"planted","path":"{P}"}`, dir: true},
		{tool: "bash", params: `{"command":"cd '{P}' && cat secret.txt inner.txt; touch owned"}`, dir: true},
	},
	"claude": {
		{tool: "Read", params: `{"file_path":"{P}"}`},
		{tool: "Write", params: `{"file_path":"{P}","content":"owned"}`},
		{tool: "Write", as: "new", params: `{"file_path":"{P}/new/file","content":"owned"}`, dir: true},
		{tool: "Edit", params: `{"file_path":"{P}","old_string":"outside","new_string":"owned"}`},
		{tool: "Edit", as: "new", params: `{"file_path":"{P}/new","old_string":"","new_string":"owned"}`, dir: true},
		{tool: "NotebookEdit", params: `{"notebook_path":"{P}/n.ipynb","new_source":"owned","cell_id":"a"}`, dir: true},
		{tool: "Glob", params: `{"pattern":"*","path":"{P}"}`, dir: true},
		{tool: "Glob", as: "pattern", params: `{"pattern":"{P}/*"}`, dir: true},
		{tool: "Grep", params: `{"pattern":"planted","path":"{P}","output_mode":"content"}`, dir: true},
		{tool: "Bash", params: `{"command":"cd '{P}' && cat secret.txt inner.txt; touch owned"}`, dir: true},
	},
	"codex": {
		{tool: "exec_command", params: `{"cmd":"cat secret.txt inner.txt; touch owned","workdir":"{P}","tty":true}`,
			dir: true},
		{tool: "shell_command", params: `{"command":"cat secret.txt inner.txt; touch owned","workdir":"{P}"}`, dir: true},
		{tool: "shell", params: `{"commands":["cd '{P}' && cat secret.txt inner.txt; touch owned"]}`, dir: true},
		{tool: "apply_patch", as: "add", params: `{"input":"*** Begin Patch\n*** Add File: {P}\n+owned\n*** End Patch"}`},
		{tool: "apply_patch", as: "add below",
			params: `{"input":"*** Begin Patch\n*** Add File: {P}/new/file\n+owned\n*** End Patch"}`, dir: true},
		{tool: "apply_patch", as: "update",
			params: `{"input":"*** Begin Patch\n*** Update File: {P}\n@@\n+owned\n*** End Patch"}`},
		{tool: "apply_patch", as: "delete", params: `{"input":"*** Begin Patch\n*** Delete File: {P}\n*** End Patch"}`},
		{tool: "apply_patch", as: "move", params: `{"input":"*** Begin Patch\n*** Update File: ok.txt\n` +
			`*** Move to: {P}\n@@\n+owned\n*** End Patch"}`},
		{tool: "apply_patch", as: "operation", params: `{"operation":{"type":"create_file","path":"{P}","diff":"+owned"}}`},
		{tool: "view_image", params: `{"path":"{P}/secret.png"}`, dir: true},
	},
	"ocode": {
		{tool: "file_read", params: `{"path":"{P}"}`},
		{tool: "file_write", params: `{"path":"{P}","content":"owned"}`},
		{tool: "file_write", as: "new", params: `{"path":"{P}/new/file","content":"owned","create_dirs":true}`,
			dir: true},
		{tool: "file_edit", params: `{"path":"{P}","old_text":"outside","new_text":"owned"}`},
		{tool: "file_ops", as: "copy source", params: `{"operation":"copy","source":"{P}","destination":"stolen"}`},
		{tool: "file_ops", as: "copied tree", params: `{"operation":"copy","source":"{P}","destination":"stolentree"}`,
			dir: true},
		{tool: "file_ops", as: "copy target", params: `{"operation":"copy","source":"ok.txt","destination":"{P}"}`},
		{tool: "file_ops", as: "move source", params: `{"operation":"move","source":"{P}","destination":"stolen"}`,
			unlinks: true},
		{tool: "file_ops", as: "move target", params: `{"operation":"move","source":"ok.txt","destination":"{P}"}`},
		{tool: "file_ops", as: "removed", params: `{"operation":"remove","source":"{P}"}`, unlinks: true},
		{tool: "grep", params: `{"pattern":"planted","path":"{P}","recursive":true}`, dir: true},
		{tool: "diff", params: `{"source1":"{P}","source2":"ok.txt"}`, text: true},
		{tool: "diff", as: "second", params: `{"source1":"ok.txt","source2":"{P}"}`, text: true},
		{tool: "json_yaml", params: `{"action":"parse","input":"{P}","format":"yaml"}`, text: true},
		{tool: "json_yaml", as: "merged", params: `{"action":"merge","input":"ok.txt\n{P}","format":"yaml"}`,
			text: true},
		{tool: "bash", params: `{"command":"cat secret.txt inner.txt; touch owned","working_dir":"{P}"}`, dir: true},
		{tool: "git_status", params: `{"path":"{P}"}`, dir: true},
		{tool: "test_runner", params: `{"framework":"unittest","path":"{P}"}`, dir: true},
		{tool: "architect", params: `{"analysis_type":"metrics","path":"{P}"}`, dir: true},
	},
}

// escape is a way to name a file and a directory outside. links reports whether it goes through a
// symlink.
type escape struct {
	name, file, dir string
	links           bool
}

var escapes = []escape{
	{name: "dotdot", file: "../outside/secret.txt", dir: "../outside"},
	{name: "absolute", file: "{OUT}/secret.txt", dir: "{OUT}"},
	{name: "sibling with the same beginning", file: "{BASE}/ws-evil/secret.txt", dir: "../ws-evil"},
	{name: "dotdot after a directory", file: "sub/../../outside/secret.txt", dir: "sub/../../outside"},
	{name: "many dotdots", file: "../../../../../../../../..{OUT}/secret.txt", dir: "../../../../../../../../..{OUT}"},
	{name: "link to it", file: "lnk", dir: "lnkdir", links: true},
	{name: "through a linked directory", file: "lnkdir/secret.txt", dir: "lnkdir/dir", links: true},
	{name: "absolute link", file: "abslnk", dir: "abslnkdir", links: true},
	{name: "chain of links", file: "c1", dir: "d1", links: true},
	{name: "link out of a link", file: "sub/up/outside/secret.txt", dir: "sub/up/outside", links: true},
}

// refusals are each contract's codes for a path that leads out.
var refusals = map[string][]string{
	"agent":      {"path_outside_workspace"},
	"cliagent":   {"path_outside_working_dir"},
	"agentbench": {"path_outside_workspace", "blocked"}, // path_escape and symlink_blocked in its terms
	"clemini":    {"ACCESS_DENIED", "path_outside_workspace"},
	"ocode":      {"path_outside_workspace"},
}

func (a *arena) plantLinks() {
	for name, target := range map[string]string{
		"lnk": "../outside/secret.txt", "lnkdir": "../outside", "abslnk": a.out + "/secret.txt", "abslnkdir": a.out,
		"c1": "c2", "c2": "./sub/c3", "sub/c3": "../lnk", "d1": "d2", "d2": "sub/../lnkdir", "sub/up": "../..",
		"dangling": "../outside/new.txt", "loop": "loop", "proc": "/proc/self",
	} {
		path := filepath.Join(a.ws, name)
		if now, err := os.Readlink(path); err == nil && now == target {
			continue
		}
		_ = os.RemoveAll(path)
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		require.NoError(a.t, os.Symlink(target, path))
	}
	_ = os.WriteFile(filepath.Join(a.ws, "ok.txt"), []byte("fine\n"), 0o644)
}

func (v victim) called(toolset string) string {
	if v.as != "" {
		return toolset + " " + v.tool + " " + v.as + ": "
	}
	return toolset + " " + v.tool + ": "
}

func (v victim) at(path string) string {
	quoted, _ := json.Marshal(path)
	return strings.ReplaceAll(v.params, "{P}", string(quoted[1:len(quoted)-1]))
}

// against returns the attack on a victim by an escape.
func (v victim) against(toolset string, e escape) attack {
	x := attack{group: "paths", name: v.called(toolset) + e.name, tool: v.tool, want: refusals[toolset],
		params: v.at(e.file)}
	if v.dir {
		x.params = v.at(e.dir)
	}
	switch {
	case v.unlinks && e.links, v.text:
		x.want = nil
	case v.tool == "apply_patch" && (e.name == "absolute" || strings.HasPrefix(e.name, "sibling")):
		x.want = nil // patch strips leading slashes
	case v.tool == "create_file" && e.links:
		x.want = append([]string{"file_exists"}, x.want...) // the link exists
	}
	return x
}

func TestPathsLeadNowhereOutside(t *testing.T) {
	t.Parallel()
	for toolset, list := range victims {
		t.Run(toolset, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, map[string]string{"sub/x.txt": "x\n", "agent.hcl": ""})
			a.plantLinks()
			a.arm()
			h := a.serve(nil, "--toolset", toolset)
			for i, v := range list {
				for j, e := range escapes {
					if testing.Short() && j%4 != i%4 {
						continue // each escape with a quarter of the tools
					}
					a.plantLinks()
					oneOverMCP(t, h, v.against(toolset, e))
				}
			}
			for _, v := range h.stop() {
				t.Errorf("after the end: %s: %s", v.check, v.what)
			}
		})
	}
}

// The same on the command line, with one escape per tool in turn.
func TestPathsOnTheCommandLine(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for toolset, list := range victims {
		t.Run(toolset, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, map[string]string{"sub/x.txt": "x\n"})
			a.plantLinks()
			a.arm()
			for i, v := range list {
				x := v.against(toolset, escapes[(3*i)%len(escapes)])
				x.name = "command line: " + x.name
				if toolset == "agentbench" && x.want != nil {
					x.want = []string{"path_escape", "symlink_blocked"}
				}
				a.plantLinks()
				t.Run(x.name, func(t *testing.T) { onCommandLine(t, a, nil, toolset, x) })
			}
		})
	}
}

// Special files, invalid names, and protected files.
func TestPathsThatAreTraps(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{
		"agent.hcl": "workspace {}\n", ".git/config": "[core]\n", ".git/hooks/x": "#!/bin/sh\n",
		".agent/Taskfile.yml": "version: '3'\n",
		".mcp.json":           "{}", ".vscode/tasks.json": "{}", ".envrc": "export A=1\n", "page.html": "<p>x</p>",
	})
	a.plantLinks()
	require.NoError(t, syscall.Mkfifo(filepath.Join(a.ws, "fifo"), 0o644))
	a.link("/dev/zero", "zero")
	a.link("/dev/stdin", "stdin")
	require.NoError(t, os.Link(filepath.Join(a.out, "secret.txt"), filepath.Join(a.ws, "hard")))
	for _, name := range []string{"agent.hcl", ".git/config", ".git/hooks/x", ".agent/Taskfile.yml", ".mcp.json",
		".vscode/tasks.json", ".envrc"} {
		data, err := os.ReadFile(filepath.Join(a.ws, name))
		require.NoError(t, err)
		a.whole[name] = []string{string(data)}
	}
	for _, name := range []string{".git/hooks/pre-commit", ".GIT/hooks/pre-commit", "sub/.git/hooks/post-checkout"} {
		a.whole[name] = []string{"(missing)"}
	}
	a.arm()
	long := strings.Repeat("d/", 3000) + "f"
	outside, blocked, any := []string{"path_outside_workspace"}, []string{"permission_denied"},
		[]string{"invalid_argument", "not_found", "too_large", "path_outside_workspace", "unsupported", "blocked"}
	regular := []string{"unsupported", "blocked", "invalid_argument", "path_outside_workspace"}
	read, write := `{"path":"{P}"}`, `{"path":"{P}","content":"owned"}`
	var list []attack
	add := func(name, tool, params, path string, want []string) {
		list = append(list,
			attack{group: "paths", name: name, tool: tool, params: victim{params: params}.at(path), want: want})
	}
	add("read a FIFO", "read_file", read, "fifo", regular)
	add("write a FIFO", "write_file", write, "fifo", regular)
	add("append to a FIFO", "append_file", write, "fifo", regular)
	add("edit a FIFO", "edit_file", `{"path":"{P}","old_str":"a","new_str":"b"}`, "fifo", regular)
	add("head of a FIFO", "head", `{"args":"{P}"}`, "fifo", regular)
	add("copy onto a FIFO", "cp", `{"args":"ok.txt {P}"}`, "fifo", regular)
	add("wc of the files that a FIFO names", "wc", `{"args":"--files0-from={P}"}`, "fifo", regular)
	add("read a device through a link", "read_file", read, "zero", outside)
	add("head of a device", "head", `{"args":"-c 10 {P}"}`, "/dev/zero", outside)
	add("read the host's stdin", "read_file", read, "/dev/stdin", outside)
	add("read the host's stdin through a link", "read_file", read, "stdin", outside)
	add("read the host's environment", "read_file", read, "/proc/self/environ", outside)
	add("read the host's environment through a link", "read_file", read, "proc/environ", outside)
	add("head of the environment", "head", `{"args":"-c 4000 {P}"}`, "/proc/self/environ", outside)
	add("wc of the environment of the parent", "wc", `{"args":"{P}"}`, "/proc/1/environ", outside)
	add("through the root in proc", "read_file", read, "/proc/self/root{OUT}/secret.txt", outside)
	add("through the working directory in proc", "read_file", read, "/proc/self/cwd/../outside/secret.txt", outside)
	add("write through a dangling link", "write_file", write, "dangling", outside)
	add("append through a dangling link", "append_file", write, "dangling", outside)
	add("touch a dangling link", "touch", `{"args":"{P}"}`, "dangling", outside)
	add("read a link to itself", "read_file", read, "loop",
		[]string{"invalid_argument", "not_found", "path_outside_workspace", "unavailable", "blocked"})
	add("write a link to itself", "write_file", write, "loop",
		[]string{"invalid_argument", "not_found", "path_outside_workspace", "unavailable", "blocked"})
	add("copy onto a hard link", "cp", `{"args":"ok.txt {P}"}`, "hard", blocked)
	add("touch a hard link", "touch", `{"args":"{P}"}`, "hard", blocked)
	add("write a hard link", "write_file", write, "hard", nil)
	add("NUL in a name", "read_file", read, "ok.txt\x00.png", any)
	add("NUL in a name to write", "write_file", write, "a\x00b", any)
	add("a path too long", "read_file", read, long, append(any, "unavailable"))
	add("a name too long", "write_file", write, strings.Repeat("n", 5000), append(any, "unavailable", "internal"))
	add("a file as a directory", "write_file", write, "ok.txt/x",
		[]string{"not_a_directory", "is_directory", "invalid_argument", "not_found"})
	add("a tilde is a name", "read_file", read, "~/.ssh/id_ed25519", []string{"not_found"})
	add("a variable is a name", "read_file", read, "$HOME/.ssh/id_ed25519", []string{"not_found"})
	add("a URL is a name", "read_file", read, "file:///etc/passwd", []string{"not_found", "path_outside_workspace"})
	add("backslashes", "read_file", read, `..\outside\secret.txt`, []string{"not_found", "path_outside_workspace"})
	add("percent escapes", "read_file", read, `%2e%2e/outside/secret.txt`, []string{"not_found"})
	add("overlong dots", "read_file", read, "\uff0e\uff0e/outside/secret.txt", []string{"not_found"})
	add("empty path", "read_file", read, "", any)
	for _, name := range []string{
		".git/hooks/pre-commit", ".git/config", ".GIT/hooks/pre-commit", "sub/.git/hooks/post-checkout", "agent.hcl",
		"AGENT.HCL", "./agent.hcl",
		"sub/../agent.hcl", ".agent/Taskfile.yml", ".agent/taskfile.yml", ".vscode/tasks.json", ".mcp.json", ".envrc",
		".agent/runs/x/events.jsonl",
		".g\u200cit/hooks/pre-commit",
	} {
		want := blocked
		if strings.Contains(name, "\u200c") || name == "AGENT.HCL" || name == ".agent/taskfile.yml" ||
			strings.HasPrefix(name, ".GIT") {
			want = append([]string{""}, blocked...) // another file if names are case sensitive
		}
		add("write the protected "+name, "write_file", write, name, want)
	}
	add("delete the protected agent.hcl", "delete_file", read, "agent.hcl", blocked)
	add("edit the protected .git/config", "edit_file", `{"path":"{P}","old_str":"core","new_str":"owned"}`,
		".git/config", blocked)
	add("cp over agent.hcl", "cp", `{"args":"ok.txt {P}"}`, "agent.hcl", blocked)
	add("mv over .git/config", "mv", `{"args":"ok.txt {P}"}`, ".git/config", blocked)
	add("rm of .git", "rm", `{"args":"-rf {P}"}`, ".git", blocked)
	add("mv of .git away", "mv", `{"args":"{P} elsewhere"}`, ".git", blocked)
	add("mv of .agent away", "mv", `{"args":"{P} elsewhere"}`, ".agent", blocked)
	add("mkdir of .git/hooks/d", "mkdir", `{"args":"-p {P}"}`, ".git/hooks/d", blocked)
	add("touch agent.lock.hcl", "touch", `{"args":"{P}"}`, "agent.lock.hcl", blocked)
	h := a.serve(nil)
	overMCP(t, h, list)
}

func TestPathsControls(t *testing.T) {
	t.Parallel()
	t.Run("workspace allowed to reach outside", func(t *testing.T) {
		for _, v := range []struct{ toolset, tool, params, check string }{
			{"", "write_file", `{"path":"../outside/secret.txt","content":"owned"}`, checkCanary},
			{"", "read_file", `{"path":"lnk"}`, checkSecret},
			{"", "rm", `{"args":"-rf ../outside/dir"}`, checkCanary},
			{"", "touch", `{"args":"{OUT}/secret.txt"}`, checkCanary},
			{"", "head", `{"args":"lnkdir/secret.txt"}`, checkSecret},
			{"", "cp", `{"args":"ok.txt {OUT}/new"}`, checkCanary},
			{"clemini", "read_file", `{"file_path":"lnk"}`, checkSecret},
			{"clemini", "write_file", `{"file_path":"../outside/secret.txt","content":"owned"}`, checkCanary},
			{"clemini", "grep", `{"pattern":"planted","directory":"lnkdir","output_mode":"content"}`, checkSecret},
			{"clemini", "bash", `{"command":"cat secret.txt","working_directory":"lnkdir"}`, checkSecret},
			{"ocode", "file_read", `{"path":"lnkdir/secret.txt"}`, checkSecret},
			{"ocode", "file_ops", `{"operation":"remove","source":"{OUT}/dir/inner.txt"}`, checkCanary},
			{"ocode", "diff", `{"source1":"{OUT}/secret.txt","source2":"ok.txt"}`, checkSecret},
			{"ocode", "bash", `{"command":"touch secret.txt","working_dir":"{OUT}"}`, checkCanary},
		} {
			a := newArena(t, nil)
			a.write(a.ws, "agent.hcl", `workspace { allow = ["../outside"] }`, 0o644)
			a.plantLinks()
			a.arm()
			r := a.cli(nil, v.toolset, v.tool, a.fill(v.params))
			control(t, "paths", v.toolset+" "+v.tool+" where outside is allowed", v.check, a.inspect(r.said...))
		}
	})
	t.Run("a naive writer follows hard links", func(t *testing.T) {
		a := newArena(t, nil)
		require.NoError(t, os.Link(filepath.Join(a.out, "secret.txt"), filepath.Join(a.ws, "hard")))
		a.arm()
		require.NoError(t, os.WriteFile(filepath.Join(a.ws, "hard"), []byte("owned"), 0o644))
		control(t, "paths", "hard link written in place", checkCanary, a.inspect())
	})
	t.Run("mtime alone", func(t *testing.T) {
		a := newArena(t, nil)
		a.arm()
		require.NoError(t, os.Chmod(filepath.Join(a.out, "secret.txt"), 0o600))
		control(t, "paths", "mode changed", checkCanary, a.inspect())
	})
}
