package attack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// refused are the codes by which arguments are refused before anything runs.
var refused = []string{"invalid_argument", "blocked", "path_outside_workspace", "unsupported", "permission_denied",
	"not_found"}

// argsAttacks are args strings that try to reach more than the command's purpose.
var argsAttacks = []struct{ tool, args string }{
	// Shell syntax.
	{"head", `ok.txt; touch {OUT}/owned`},
	{"head", `ok.txt && touch {OUT}/owned`},
	{"head", `none || touch {OUT}/owned`},
	{"head", `ok.txt | tee {OUT}/owned`},
	{"head", `ok.txt > {OUT}/owned`},
	{"head", `ok.txt >> {OUT}/secret.txt`},
	{"head", `ok.txt 2>{OUT}/owned`},
	{"head", `ok.txt &`},
	{"wc", `< {OUT}/secret.txt`},
	{"wc", `<<< planted`},
	{"head", `$(cat {OUT}/secret.txt)`},
	{"head", "`cat {OUT}/secret.txt`"},
	{"head", `<(cat {OUT}/secret.txt)`},
	{"head", `"$(cat {OUT}/secret.txt)"`},
	{"head", `$HOME/.ssh/id_ed25519`},
	{"head", `"${XDG_CONFIG_HOME}/../.ssh/id_ed25519"`},
	{"head", `${PLANTED}`},
	{"head", `$((1+1))`},
	{"head", `~/.ssh/id_ed25519`},
	{"head", "ok.txt\ntouch {OUT}/owned"},
	{"head", `"unclosed`},
	{"head", `'unclosed`},
	{"head", `(ok.txt)`},
	// Quoting that hides a path.
	{"head", `'..'/outside/secret.txt`},
	{"head", `".."/"outside"/secret.txt`},
	{"head", `\.\./outside/secret.txt`},
	{"head", `.\./outside/secret.txt`},
	{"head", `-- ../outside/secret.txt`},
	{"head", `-n 1 -- {OUT}/secret.txt`},
	{"head", `-n1 ok.txt ../outside/secret.txt`},
	// Globs.
	{"head", `../outside/*.txt`},
	{"head", `../outs*/secret.txt`},
	{"head", `{OUT}/s*`},
	{"head", `sub/../../outside/*`},
	{"rm", `-rf ../*`},
	{"rm", `-rf {BASE}/out*`},
	// Option values that are paths.
	{"wc", `--files0-from={OUT}/secret.txt`},
	{"wc", `--files0-from {OUT}/secret.txt`},
	{"wc", `--files0-f={OUT}/secret.txt`},
	{"wc", `--files0-from=-`},
	{"wc", `--files0-from=names0`},
	{"cp", `-t {OUT} ok.txt`},
	{"cp", `-t{OUT} ok.txt`},
	{"cp", `--target-directory={OUT} ok.txt`},
	{"cp", `--target={OUT} ok.txt`},
	{"cp", `-rt {OUT} ok.txt`},
	{"cp", `-s {OUT}/secret.txt here`},
	{"cp", `--symbolic-link {OUT}/secret.txt here`},
	{"cp", `-l {OUT}/secret.txt here`},
	{"cp", `--link {OUT}/secret.txt here`},
	{"cp", `-b -S /../../outside/x ok.txt sub`},
	{"cp", `--parents ../outside/secret.txt sub`},
	{"cp", `-rL tree copied`},
	{"cp", `-r --copy-contents tree copied`},
	{"mv", `-t {OUT} ok.txt`},
	{"mv", `--target-directory={OUT} ok.txt`},
	{"mv", `-b --suffix=/../../outside/x ok.txt sub`},
	{"mv", `ok.txt ../outside/`},
	{"mv", `../outside/secret.txt ../outside/dir .`},
	{"touch", `-r {OUT}/secret.txt ok.txt`},
	{"touch", `--reference={OUT}/secret.txt ok.txt`},
	{"touch", `--ref={OUT}/secret.txt ok.txt`},
	{"touch", `-cr{OUT}/secret.txt ok.txt`},
	{"touch", `ok.txt {OUT}/secret.txt`},
	{"mkdir", `sub/new {OUT}/new`},
	{"mkdir", `-p sub/../../outside/new`},
	{"rm", `-rf /`},
	{"rm", `-rf --no-preserve-root /`},
	{"rm", `-rf {WS}`},
	{"rm", `-rf .`},
	{"rm", `-rf ..`},
	{"rm", `-rf ./`},
	{"rm", `-rf lnkdir/*`},
	// Options that run programs, never end, or write elsewhere.
	{"tail", `-f ok.txt`},
	{"tail", `-fn1 ok.txt`},
	{"tail", `-F ok.txt`},
	{"tail", `--follow ok.txt`},
	{"tail", `--fol=name ok.txt`},
	{"tail", `--retry ok.txt`},
	{"cloc", `--report-file={OUT}/owned ok.txt`},
	{"cloc", `--out={OUT}/owned ok.txt`},
	{"cloc", `--list-file={OUT}/secret.txt`},
	{"cloc", `--extract-with='touch {OUT}/owned' ok.txt`},
	{"cloc", `--config={OUT}/secret.txt ok.txt`},
	{"cloc", `--read-lang-def={OUT}/secret.txt ok.txt`},
	{"cloc", `--write-lang-def={OUT}/owned`},
	{"cloc", `--ignored={OUT}/owned ok.txt`},
	{"cloc", `--strip-comments=x --original-dir ../outside/run.sh`},
	{"cloc", `--vcs='touch {OUT}/owned' .`},
	{"cloc", `--git HEAD`},
	{"task", `--taskfile {OUT}/secret.txt`},
	{"task", `-t {OUT}/secret.txt`},
	{"task", `--dir {OUT}`},
	{"task", `-d ../outside`},
	{"task", `--global`},
	{"task", `--watch`},
	{"task", `--init`},
	{"task", `--list-all; touch {OUT}/owned`},
}

// oddArgs may run: they name other files than it seems, or none.
var oddArgs = []struct{ tool, args string }{
	{"head", `ok.txt \`},
	{"head", `!!`},
	{"head", `$'\x2e\x2e/outside/secret.txt'`},
	{"head", `%2e%2e/outside/secret.txt`},
	{"rm", `-rf lnkdir/`},
	{"rm", `-rf lnkdir`},
	{"mv", `lnkdir moved`},
	{"cp", `-a lnkdir copied`},
}

// searchAttacks are the same for rg, whose pattern is data.
var searchAttacks = []string{
	`{"pattern":"planted","args":"-f {OUT}/secret.txt"}`,
	`{"pattern":"planted","args":"--file={OUT}/secret.txt"}`,
	`{"pattern":"planted","args":"-if{OUT}/secret.txt"}`,
	`{"pattern":"planted","args":"--pre 'touch {OUT}/owned'"}`,
	`{"pattern":"planted","args":"--pre=./evil.sh"}`,
	`{"pattern":"planted","args":"--pre-glob '*' --pre ./evil.sh"}`,
	`{"pattern":"planted","args":"--hostname-bin=./evil.sh"}`,
	`{"pattern":"planted","args":"--search-zip"}`,
	`{"pattern":"planted","args":"-z"}`,
	`{"pattern":"planted","args":"-iz"}`,
	`{"pattern":"planted","args":"--ignore-file={OUT}/secret.txt"}`,
	`{"pattern":"planted","args":"{OUT}"}`,
	`{"pattern":"planted","args":".. /"}`,
	`{"pattern":"planted","args":"-- {OUT}/secret.txt"}`,
	`{"pattern":"--files","args":"{OUT}"}`,
}

// harmlessSearches must find nothing outside, refused or not.
var harmlessSearches = []string{
	`{"pattern":"planted","args":"-L ."}`,
	`{"pattern":"planted","args":"--follow"}`,
	`{"pattern":"planted","args":"-uuu"}`,
	`{"pattern":"--pre=./evil.sh","args":"."}`,
	`{"pattern":"-f{OUT}/secret.txt"}`,
	`{"pattern":"planted","args":"-g '../outside/**'"}`,
}

func argsArena(t *testing.T, s stance) *arena {
	a := newArenaFor(t, s, map[string]string{
		"sub/x.txt": "x\n", "tree/a.txt": "a\n", "names0": "../outside/secret.txt\x00",
		".ripgreprc":          "--pre=./evil.sh\n",
		".agent/Taskfile.yml": "version: '3'\ntasks:\n  default:\n    cmds: ['true']\n",
	})
	a.write(a.ws, "evil.sh", "#!/bin/sh\ntouch "+a.out+"/owned\ncat "+a.out+"/secret.txt\n", 0o755)
	a.plantLinks()
	a.link("../../outside/secret.txt", "tree/stolen")
	return a
}

func params(t *testing.T, args string) string {
	data, err := json.Marshal(map[string]string{"args": args})
	require.NoError(t, err)
	return string(data)
}

func TestArgs(t *testing.T) {
	t.Parallel()
	for _, s := range []stance{usual(), weakest()} {
		t.Run(s.String(), func(t *testing.T) {
			only(t, "command", s)
			t.Parallel()
			tryArgs(t, s)
		})
	}
}

func tryArgs(t *testing.T, s stance) {
	a := argsArena(t, s)
	if block := s.block(); block != "" {
		a.write(a.ws, "agent.hcl", block, 0o644)
	}
	a.arm()
	h := a.serve([]string{"RIPGREP_CONFIG_PATH=" + a.ws + "/.ripgreprc"})
	for _, x := range argsAttacks {
		a.plantLinks()
		one := attack{group: "args", name: s.String() + " " + x.tool + " " + x.args, tool: x.tool,
			params: params(t, x.args), want: refused}
		oneOverMCP(t, h, one)
	}
	for _, x := range oddArgs {
		a.plantLinks()
		oneOverMCP(t, h, attack{group: "args", name: s.String() + " " + x.tool + " " + x.args, tool: x.tool,
			params: params(t, x.args)})
	}
	for _, p := range searchAttacks {
		oneOverMCP(t, h, attack{group: "args", name: s.String() + " rg " + p, tool: "rg", params: p, want: refused})
	}
	for _, p := range harmlessSearches {
		oneOverMCP(t, h, attack{group: "args", name: s.String() + " rg " + p, tool: "rg", params: p})
	}
	for _, v := range h.stop() {
		t.Errorf("after the end: %s: %s", v.check, v.what)
	}
}

// typedTools are command templates whose values try to become options or paths.
const typedTools = `
tool "show" {
  description = "Show a file."
  param "file" {
    type = string
    path = "read"
  }
  command { argv = ["cat", param.file] }
}
tool "make" {
  description = "Make a file."
  param "file" {
    type = string
    path = "write"
  }
  command { argv = ["touch", param.file] }
}
tool "find" {
  description = "Find a word."
  param "word" { type = string }
  command { argv = ["grep", "-r", "-e", param.word, "ok.txt"] }
}
tool "many" {
  description = "Count files."
  param "files" {
    type = list(string)
    path = "read"
  }
  command { argv = concat(["wc", "-c"], param.files) }
}
`

func TestTypedArguments(t *testing.T) {
	t.Parallel()
	a := newArena(t, nil)
	a.write(a.ws, "agent.hcl", typedTools, 0o644)
	a.plantLinks()
	a.arm()
	h := a.serve(nil)
	var list []attack
	add := func(tool, params string, want []string) {
		list = append(list,
			attack{group: "args", name: "typed " + tool + " " + params, tool: tool, params: params, want: want})
	}
	add("show", `{"file":"../outside/secret.txt"}`, refused)
	add("show", `{"file":"lnk"}`, refused)
	add("show", `{"file":"--help"}`, append([]string{"command_failed"}, refused...)) // of the name ./--help
	add("show", `{"file":"-"}`, append([]string{"command_failed"}, refused...))
	add("show", `{"file":"/proc/self/environ"}`, refused)
	add("show", `{"file":"ok.txt","extra":"--help"}`, refused)
	add("show", `{"file":["ok.txt","../outside/secret.txt"]}`, refused)
	add("show", `{"File":"../outside/secret.txt","file":"ok.txt"}`, refused)
	add("show", `{"file":"ok.txt","file":"../outside/secret.txt"}`, refused)
	add("make", `{"file":"{OUT}/owned"}`, refused)
	add("make", `{"file":"dangling"}`, refused)
	add("make", `{"file":"agent.hcl"}`, refused)
	add("find", `{"word":"-f../outside/secret.txt"}`, refused)
	add("find", `{"word":"$(cat {OUT}/secret.txt)"}`, []string{"", "command_failed"})
	add("find", `{"word":"x\u0000--help"}`, refused)
	overMCP(t, h, list)
}

func TestArgsControls(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ script, check string }{
		"a shell acts on operators":     {"head ok.txt; touch %OUT%/owned", checkCanary},
		"a shell expands":               {"head $(echo %OUT%/secret.txt)", checkSecret},
		"cp writes to its -t":           {"cp -t %OUT% ok.txt", checkCanary},
		"wc reads the files it is told": {"wc --files0-from=%OUT%/secret.txt", checkSecret},
		"touch follows links":           {"touch dangling", checkCanary},
		"rg runs its --pre":             {"rg --pre ./evil.sh planted .", checkCanary},
	} {
		t.Run(name, func(t *testing.T) {
			testneed.Program(t, strings.Fields(x.script)[0])
			a := argsArena(t, usual())
			a.arm()
			said := a.shell(x.script)
			control(t, "args", name, x.check, a.inspect(said))
		})
	}
}
