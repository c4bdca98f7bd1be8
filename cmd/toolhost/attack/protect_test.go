package attack

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// grantingConfig has a block of each kind with a grant to a file of the workspace.
const grantingConfig = `
tool "script" {
  description = "Run."
  network     = "allow"
  command { argv = ["sh", "tools/build.sh", "--rules=tools/rules.txt"] }
}
tool "line" {
  description = "Run."
  write       = ["grant"]
  command { argv = ["sh", "-c", "cd . && ./tools/line.sh; true"] }
}
mcp "local" {
  command = ["python3", "tools/srv.py"]
  network = "allow"
}
agent "helper" {
  command = ["sh", "tools/helper.sh"]
  network = "allow"
}
taskfile { network = "allow" }
`

// decidingFiles are the arena's files that decide what may be done, and their content; empty means
// missing.
var decidingFiles = map[string]string{
	".agent/Taskfile.yml": "version: '3'\nincludes:\n  more: ../Taskfile.more.yml\n" +
		"  dir: {taskfile: ../ci, optional: true}\ntasks: {}\n",
	"Taskfile.more.yml":            "version: '3'\nincludes:\n  deep: ./ci/deep.yml\n",
	"ci/Taskfile.yaml":             "version: '3'\n",
	"ci/deep.yml":                  "version: '3'\n",
	"tools/build.sh":               "true\n",
	"tools/rules.txt":              "rules\n",
	"tools/line.sh":                "true\n",
	"tools/srv.py":                 "pass\n",
	"tools/helper.sh":              "true\n",
	".envrc":                       "true\n",
	".mcp.json":                    "{}\n",
	".vscode/tasks.json":           "{}\n",
	".claude/settings.json":        "{}\n",
	"agent.lock.hcl":               "# locked\n",
	".git/config":                  "[core]\n\trepositoryformatversion = 0\n",
	".git/hooks/pre-commit":        "",
	".git/config.worktree":         "",
	".git/info/attributes":         "",
	".git/objects/info/alternates": "",
}

// ways are shell commands that would change a file.
var ways = []string{
	`echo owned >> F`, `echo owned > F.tmp && mv F.tmp F`, `rm -f F && echo owned > F`,
	`D=$(dirname F); mv $D D.moved && mkdir -p $D && echo owned > F`,
	`ln -sf /dev/null F`, `perl -e 'open F, "+<", "F" and print F "owned"'`, `ln F hard && echo owned > hard`,
	`cp ok.txt F`, `chmod 777 F; : > F`,
}

func protectedArena(t *testing.T, s stance) *arena {
	t.Helper()
	hcl := grantingConfig + s.block()
	a := newArenaFor(t, s, map[string]string{"agent.hcl": hcl, ".git/HEAD": "ref: refs/heads/main\n"})
	require.NoError(t, os.MkdirAll(filepath.Join(a.ws, "grant"), 0o755))
	for _, dir := range []string{".git/objects/info", ".git/objects/pack", ".git/refs/heads", ".git/info"} {
		require.NoError(t, os.MkdirAll(filepath.Join(a.ws, dir), 0o755))
	}
	a.whole["agent.hcl"] = []string{hcl}
	for name, content := range decidingFiles {
		if a.whole[name] = []string{content}; content == "" {
			a.whole[name] = []string{"", "(missing)"}
			continue
		}
		a.write(a.ws, name, content, 0o644)
	}
	return a
}

// TestProtectDecidingFiles has confined commands try, in every way, to change what decides what may be
// done.
func TestProtectDecidingFiles(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range append(stances(), stance{sandbox.Off, os.Geteuid()}) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := protectedArena(t, s)
			a.arm()
			h := a.serve(nil, "--toolset", "cliagent")
			names := slices.Sorted(maps.Keys(a.whole))
			for _, way := range ways {
				if s.level != sandbox.Off {
					together(t, h, attack{group: "protect", name: s.String() + " " + way + " ", tool: "run_in_terminal"},
						command, eachWith(way, names...))
				} else if slices.Contains([]string{ways[0], ways[3]}, way) {
					for _, x := range eachWith(way, names...) {
						r := h.call("run_in_terminal", command(t, x.text))
						control(t, "protect", x.name+": "+way, checkWhole, h.inspect(r))
					}
				}
			}
			h.stop()
		})
	}
}

// eachWith returns the scripts of a way with each name.
func eachWith(way string, names ...string) []script {
	var list []script
	for _, name := range names {
		list = append(list, script{name, strings.ReplaceAll(way, "F", name) + "; rm -rf D.moved; true"})
	}
	return list
}

// missingNames are missing files like decidingFiles that level landlock prevents from being made.
var missingNames = []string{
	"agent.hcl.json", "pkg/agent.hcl", "pkg/agent.hcl.new", "pkg/deep/agent.lock.hcl", "pkg/.agent/Taskfile.yml",
	".cursor/mcp.json", ".git/commondir",
	"pkg/.git/config", "vendor/lib/.git", "ci/Taskfile.yml", ".git/modules/lib/config",
	".git/modules/a/b/hooks/post-checkout", ".git/worktrees/w/commondir",
}

// TestProtectMissing has confined commands try to make missing deciding files.
func TestProtectMissing(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	detours := append([]string{
		`mkdir -p $(dirname F) && echo owned > F`,
		`mkdir -p $(dirname F); ln -s F way; echo owned > way; rm -f way`,
		`mkdir -p $(dirname F); ln -s "$PWD" way; echo owned > way/F; rm -f way`,
		`mkdir -p $(dirname F); cd $(dirname F) && echo owned > ./$(basename F)`,
		`mkdir -p $(dirname F); mkfifo F; mkdir F; mkdir -p F/sub`,
		`mkdir -p $(dirname F); exec 9> plain; ln /proc/self/fd/9 F; mv plain F`, `mkdir -p $(dirname F); ` + racing,
	}, slices.DeleteFunc(slices.Clone(ways), func(way string) bool { return way == ways[3] })...)
	// These could undo another name's effect.
	removing := []string{
		`D=$(dirname F); mkdir -p x && echo owned > x/$(basename F) && rm -rf $D; mv x $D; ln -sfn x $D`, ways[3],
	}
	for _, s := range append(stances(), stance{sandbox.Off, os.Geteuid()}) {
		if s.level == sandbox.Auto || s.level == sandbox.Full {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := protectedArena(t, s)
			for _, name := range missingNames {
				a.whole[name] = []string{"(missing)"}
			}
			// Made as by git, whatever is written.
			a.whole[".git/worktrees/w/commondir"] = []string{"(missing)", "../..\n"}
			require.NoError(t, copyFile(player(), filepath.Join(a.ws, "player")))
			a.arm()
			h := a.serve(nil, "--toolset", "cliagent")
			for _, way := range detours {
				if s.level == sandbox.Off {
					break
				}
				x := attack{group: "protect", name: s.String() + " new " + way + " ", tool: "run_in_terminal"}
				together(t, h, x, command, eachWith(way, missingNames...))
			}
			for _, name := range missingNames {
				for _, way := range removing {
					x := attack{group: "protect", name: s.String() + " new " + name + ": " + way,
						tool: "run_in_terminal", params: command(t, eachWith(way, name)[0].text)}
					if s.level != sandbox.Off {
						oneOverMCP(t, h, x)
					}
				}
				if s.level == sandbox.Off {
					r := h.call("run_in_terminal", command(t, strings.ReplaceAll(detours[0], "F", name)))
					control(t, "protect", "new "+name, checkWhole, h.inspect(r))
				}
			}
			h.stop()
		})
	}
}

// racing has a thread change the name during the inspection of the call with it.
const racing = `ATTACK_ROLE=race ./player F; rm -f g*g`

// TestProtectSupervisedFiles has programs make files in all ways; at level landlock toolhost makes
// them.
func TestProtectSupervisedFiles(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const works = `set -e
echo out > /dev/stdout; echo err > /dev/stderr; echo null > /dev/null; echo fd > /dev/fd/1; echo self > /proc/self/fd/1
umask 027; echo a > new; mkdir dir; [ "$(stat -c %a new dir | tr '\n' ' ')" = "640 750 " ]; umask 022
mkfifo pipe; (sleep 0.1; echo through > pipe) & [ "$(cat pipe)" = through ]; wait; cat <(echo substituted)
ln new hard; ln -s new soft; echo b >> soft; [ "$(cat hard)" = "a
b" ]; mv new dir/moved; cp -a dir copy; rm -rf copy; truncate -s 1 hard; [ "$(cat hard)" = a ]; rmdir dir 2>/dev/null && exit 1
(set -C; echo x > hard) 2>/dev/null && exit 1; ln -s nowhere dangling; echo made > dangling; [ "$(cat nowhere)" = made ]
ATTACK_ROLE=files ./player
echo all worked`
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"agent.hcl": s.block()})
			require.NoError(t, copyFile(player(), filepath.Join(a.ws, "player")))
			a.arm()
			line := command(t, "bash -c '"+strings.ReplaceAll(works, "'", `'\''`)+"'")
			r := a.cli(nil, "cliagent", "run_in_terminal", line)
			assert.Contains(t, strings.Join(r.said, "\n"), "all worked", "%v", r.said)
		})
	}
}

// TestProtectFromFileTools is the same by file tools, including missing files.
func TestProtectFromFileTools(t *testing.T) {
	t.Parallel()
	a := protectedArena(t, usual())
	missing := []string{
		"agent.hcl.json", "pkg/agent.hcl", "pkg/deep/agent.hcl.json", "pkg/agent.lock.hcl", "pkg/.agent/Taskfile.yml",
		"AGENT.HCL",
		"pkg/.git/config", ".git/commondir", "ci/Taskfile.yml", ".cursor/mcp.json",
	}
	for _, name := range missing {
		a.whole[name] = []string{"(missing)"}
	}
	a.whole["AGENT.HCL"] = []string{"(missing)", a.whole["agent.hcl"][0]}
	a.arm()
	h := a.serve(nil)
	for name := range a.whole {
		for _, x := range []attack{
			{tool: "write_file", params: `{"path":"` + name + `","content":"owned"}`,
				want: []string{"permission_denied"}},
			{tool: "mv", params: `{"args":"ok.txt ` + name + `"}`, want: []string{"permission_denied"}},
			{tool: "rm", params: `{"args":"-f ` + name + `"}`},
		} {
			x.group, x.name = "protect", x.tool+" "+name
			oneOverMCP(t, h, x)
		}
	}
	free := h.call("write_file", `{"path":"tools/free.sh","content":"true"}`)
	assert.False(t, free.failed, "beside what is protected: %s", free.text)
	h.stop()

	off := protectedArena(t, usual())
	off.arm()
	require.NoError(t, os.WriteFile(filepath.Join(off.ws, "tools", "srv.py"), []byte("owned"), 0o644))
	control(t, "protect", "a tool that asks nobody", checkWhole, off.inspect())
}

// TestProtectIncludedTaskfiles has commands and file tools write to a Taskfile's includes while no
// block has a grant, so that nothing else protects them.
func TestProtectIncludedTaskfiles(t *testing.T) {
	t.Parallel()
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"agent.hcl": "taskfile {}\n" + s.block()})
			for _, name := range []string{".agent/Taskfile.yml", "Taskfile.more.yml", "ci/Taskfile.yaml", "ci/deep.yml"} {
				a.whole[name] = []string{decidingFiles[name]}
				a.write(a.ws, name, decidingFiles[name], 0o644)
			}
			a.arm()
			h := a.serve(nil, "--toolset", "cliagent")
			x := attack{group: "protect", name: s.String() + " included ", tool: "run_in_terminal"}
			together(t, h, x, command, eachWith(ways[0], slices.Sorted(maps.Keys(a.whole))...))
			h.stop()
			h = a.serve(nil)
			for name := range a.whole {
				x := attack{group: "protect", name: "write_file included " + name, tool: "write_file",
					params: `{"path":"` + name + `","content":"owned"}`, want: []string{"permission_denied"}}
				oneOverMCP(t, h, x)
			}
			free := h.call("write_file", `{"path":"ci/free.yml","content":"true"}`)
			assert.False(t, free.failed, "beside what is protected: %s", free.text)
			h.stop()
		})
	}
}

// linkedFiles are what a user's symlinks with protected names lead to, by those names. The content is fine.
var linkedFiles = map[string]string{
	".git/hooks/pre-commit": "scripts/pre-commit", ".vscode/tasks.json": "conf/tasks.json", ".idea": "ide/workspace.xml",
	".envrc": "conf/envrc", ".mcp.json": "conf/mcp.json", ".claude": "cl/settings.json", "agent.hcl": "conf/host.hcl",
	".agent/Taskfile.yml": "tasks/T.yml", "Taskfile.more.yml": "tasks/more.yml", "gh/post-checkout": "scripts/post-checkout",
}

// TestProtectWhatLinksLeadTo has commands and file tools change what symlinks with protected names lead to, and the
// symlinks on the way.
func TestProtectWhatLinksLeadTo(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range append(stances(), stance{sandbox.Off, os.Geteuid()}) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
			for _, dir := range []string{".git/objects", ".git/refs"} {
				require.NoError(t, os.MkdirAll(filepath.Join(a.ws, dir), 0o755))
			}
			a.write(a.ws, ".git/config", "[core]\n\thooksPath = gh\n", 0o644)
			for name, file := range linkedFiles {
				content := "# fine\n"
				switch name {
				case "agent.hcl":
					content = "taskfile {}\n" + s.block()
				case ".agent/Taskfile.yml":
					content = decidingFiles[name]
				}
				a.write(a.ws, file, content, 0o644)
				a.whole[file] = []string{content}
				to, err := filepath.Rel(filepath.Dir(name), file)
				require.NoError(t, err)
				switch name {
				case ".idea", ".claude":
					to = filepath.Dir(to)
				case ".agent/Taskfile.yml": // by another
					a.link(file, "mid")
					a.whole[name], to = a.whole[file], "../mid"
				}
				a.link(to, name)
			}
			a.arm()
			h := a.serve(nil, "--toolset", "cliagent")
			files := slices.Sorted(maps.Keys(a.whole))
			x := attack{group: "protect", name: s.String() + " linked ", tool: "run_in_terminal"}
			mid := script{"mid", `echo owned > evil.yml; ln -sfn evil.yml mid; ln -s evil.yml other; mv -T other mid; rm -f mid; true`}
			if s.level == sandbox.Off {
				for _, script := range append(eachWith(ways[0], files...), mid) {
					control(t, x.group, x.name+script.name, checkWhole, h.inspect(h.call(x.tool, command(t, script.text))))
				}
				h.stop()
				return
			}
			for _, way := range ways {
				together(t, h, x, command, append(eachWith(way, files...), mid))
			}
			h.stop()
			h = a.serve(nil)
			for _, file := range append(files, "mid") {
				for _, x := range []attack{
					{tool: "append_file", params: `{"path":"` + file + `","content":"owned"}`, want: []string{"permission_denied"}},
					{tool: "delete_file", params: `{"path":"` + file + `"}`, want: []string{"permission_denied"}},
					{tool: "mv", params: `{"args":"ok.txt ` + file + `"}`, want: []string{"permission_denied"}},
				} {
					x.group, x.name = "protect", x.tool+" linked "+file
					oneOverMCP(t, h, x)
				}
			}
			free := h.call("write_file", `{"path":"conf/free.json","content":"{}"}`)
			assert.False(t, free.failed, "beside what is protected: %s", free.text)
			h.stop()
		})
	}
}

// TestProtectLeavesGitWorking has confined commands use git normally.
func TestProtectLeavesGitWorking(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "git")
	const work = `set -e
git() { command git -c user.name=n -c user.email=e@e "$@"; }
git add -A; git commit -qm one; git checkout -q -b side; echo more >> ok.txt; git commit -qam two; git stash list
git checkout -q -; git merge -q side; git mv ok.txt fine.txt; git commit -qm three; git gc -q; git tag v1; git reset -q --hard HEAD~1
git log --oneline | wc -l; git status --porcelain; git fsck --strict 2>&1; echo all worked`
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"agent.hcl": s.block(), ".gitignore": ".agent\n"})
			out, err := exec.Command("git", "init", "-q", a.ws).CombinedOutput()
			require.NoError(t, err, string(out))
			require.NoError(t, os.RemoveAll(filepath.Join(a.ws, ".git", "hooks")))
			a.arm()
			r := a.cli(nil, "cliagent", "run_in_terminal", command(t, work))
			assert.Contains(t, strings.Join(r.said, "\n"), "all worked", "%v", r.said)
		})
	}
}

// TestProtectFromReadOnlyTools has a tool declared read_only write.
func TestProtectFromReadOnlyTools(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	scripts := []string{
		`echo owned > ok.txt`, `rm ok.txt`, `mv ok.txt moved`, `: > new.txt`, `chmod 777 ok.txt; echo owned >> ok.txt`,
		`mkdir made`,
		`touch -d 2001-01-01 ok.txt; mkdir .git`, `ln ok.txt new.txt; echo owned > new.txt`,
		`echo owned > ../shared/ok.txt`,
	}
	const works = `cat ok.txt && touch "$TMPDIR/t" "$XDG_CACHE_HOME/c" "$GOCACHE/g" && echo all worked`
	for _, s := range stances() {
		for risk, holds := range map[string]bool{"read_only": true, "safe_write": false} {
			t.Run(risk+" "+s.String(), func(t *testing.T) {
				t.Parallel()
				a := newArenaFor(t, s, map[string]string{"shared/ok.txt": "fine\n"})
				require.NoError(t, os.Rename(filepath.Join(a.ws, "shared"), filepath.Join(a.base, "shared")))
				a.write(a.ws, "agent.hcl",
					"workspace { allow = [\"../shared\"] }\ntool \"script\" {\n  description = \"Run.\"\n  risk = \""+
						risk+
						"\"\n  param \"line\" { type = string }\n  command { argv = [\"sh\", \"-c\", param.line] }\n}\n"+
						s.block(), 0o644)
				a.whole["ok.txt"], a.whole["../shared/ok.txt"] = []string{"fine\n"}, []string{"fine\n"}
				for _, name := range []string{"new.txt", "made", "moved"} {
					a.whole[name] = []string{"(missing)"}
				}
				a.arm()
				h := a.serve(nil)
				r := h.call("script", scriptParams(t, works))
				assert.Contains(t, r.text, "all worked")
				for _, script := range scripts {
					if holds {
						oneOverMCP(t, h, attack{group: "protect", name: s.String() + " read_only " + script,
							tool: "script", params: scriptParams(t, script)})
					}
				}
				if !holds {
					r := h.call("script", scriptParams(t, scripts[0]))
					control(t, "protect", "a tool of another risk", checkWhole, h.inspect(r))
				}
				h.stop()
			})
		}
	}
}
