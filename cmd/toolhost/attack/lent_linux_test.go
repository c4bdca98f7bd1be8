package attack

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// lendingWays are ways to change the file F, each in its own shell.
var lendingWays = []string{
	`echo evil > F`, `echo evil >> F`, `echo evil > x; mv x F`, `rm -f F`, `mv F x`, `ln -sf /bin/false F`,
	`ln F hard; echo evil > hard`, `ln -s F soft; echo evil > soft`, `chmod 777 F; echo evil > F`, `truncate -s 0 F`,
	`cp ok.txt F`, `dd if=ok.txt of=F conv=notrunc`, `perl -e 'open H, "+<", "F" and print H "evil"'`, `sed -i s/good/evil/ F`,
	`exec 3<F; echo evil > /proc/self/fd/3`, `echo evil > /proc/self/cwd/F`, `cd "$(dirname F)" && echo evil > "$(basename F)"`,
	`mv "$(dirname F)" moved`, `rm -rf "$(dirname F)"`, `D=$(dirname F); mv "$D" moved; mkdir -p "$D"; echo evil > F`,
}

// fileTools change the file F without a process.
var fileTools = map[string]string{
	"write_file": `{"path":"F","content":"evil"}`, "append_file": `{"path":"F","content":"evil"}`,
	"edit_file": `{"path":"F","old_str":"good","new_str":"evil"}`, "delete_file": `{"path":"F"}`,
	"multi_edit": `{"file_path":"F","edits":[{"old_string":"good","new_string":"evil"}]}`,
	"cp":         `{"args":"ok.txt F"}`, "mv": `{"args":"F x"}`, "rm": `{"args":"-f F"}`,
}

// TestGrantsAreNotLent has a block without a grant try, in every way, to change what one with a grant
// runs or reads. Files that both may write in the workspace are exempt: see docs/SECURITY.md.
func TestGrantsAreNotLent(t *testing.T) {
	t.Parallel()
	ways := lendingWays
	if testing.Short() {
		ways = ways[:2]
	}
	const config = `tool "strong" {
  description = "Run. Returns: output."
  network     = "allow"
  write       = ["../granted"]
  command { argv = ["sh", "tools/run.sh"] }
}
tool "weak" {
  description = "Run. Returns: output."
  read        = ["../home", "../granted"]
  param "line" { type = string }
  command {
    argv  = ["sh"]
    stdin = param.line
  }
}
taskfile { network = "allow" }
`
	files := map[string]string{ // besides what the first run of strong makes
		"tools/run.sh": `for d in "$npm_config_cache" "$GOCACHE" "$XDG_CACHE_HOME"; do` + "\n" +
			`mkdir -p "$d"; echo good > "$d/program"; done` + "\n",
		".agent/Taskfile.yml": "version: '3'\n", "agent.lock.hcl": "# locked\n", ".envrc": "good\n", ".mcp.json": "{}\n",
		"../granted/data": "good\n", "../granted/.env": "good\n", "../home/.local/bin/program": "good\n",
		"../home/go/pkg/mod/m/go.mod": "good\n", "../home/.cargo/bin/cargo": "good\n", "../home/.gitconfig": "[user]\n",
		"../home/config/toolhost/rules/planted.json": "{}\n",
	}
	prepare := func(t *testing.T, s stance) *arena {
		a := newArenaFor(t, s, nil)
		a.write(a.ws, "agent.hcl", config+s.block(), 0o644)
		for name, content := range files {
			a.write(a.ws, name, content, 0o644)
			a.whole[name] = []string{content}
		}
		a.whole["agent.hcl"] = []string{config + s.block()}
		a.repositoryIn(a.ws)
		data, err := os.ReadFile(filepath.Join(a.ws, ".git/config"))
		require.NoError(t, err)
		a.whole[".git/config"] = []string{string(data)}
		a.arm()
		return a
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := prepare(t, s)
			r := a.cli(nil, "", "strong", `{}`)
			require.False(t, r.failed, "%s", r.said)
			made, err := filepath.Glob(filepath.Join(a.ws, ".agent/cache/granted/*/*/program"))
			require.NoError(t, err)
			require.NotEmpty(t, made)
			for _, path := range made {
				name, err := filepath.Rel(a.ws, path)
				require.NoError(t, err)
				a.whole[name] = []string{"good\n"}
			}
			h := a.serve(nil)
			names := slices.Sorted(maps.Keys(a.whole))
			for _, way := range ways {
				var scripts []script
				for _, name := range names {
					scripts = append(scripts, script{name, strings.ReplaceAll(way, "F", name)})
				}
				together(t, h, attack{group: "protect", name: s.String() + " lent by " + way + " ", tool: "weak"},
					scriptParams, scripts)
			}
			for name, params := range fileTools {
				for _, file := range names {
					tally.note(tally.cases, "protect", s.String()+" lent by "+name+" "+file)
					assert.True(t, h.call(name, strings.ReplaceAll(params, "F", file)).failed, "%s %s", name, file)
				}
				tally.note(tally.controls, "protect", s.String()+" lent by "+name+": another file")
				a.write(a.ws, "other", "good\n", 0o644)
				r := h.call(name, strings.ReplaceAll(params, "F", "other"))
				assert.False(t, r.failed, "%s", r.text)
			}
			assert.Empty(t, a.inspect(), "after file tools")
			h.stop()
		})
	}
	for _, way := range ways {
		a := prepare(t, usual())
		a.asUser(strings.ReplaceAll(way, "F", "../granted/data") + "\ntrue")
		control(t, "protect", "lent by "+way, checkWhole, a.inspect())
	}
}

// TestWhatOthersLackIsNotLent has blocks with less than the sandbox block, and file tools, try to
// change what those with all of it run from their caches.
func TestWhatOthersLackIsNotLent(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	const program = ".agent/cache/sandbox/npm/program"
	tool := func(name, more string) string {
		return strings.NewReplacer(`"plant"`, `"`+name+`"`, "  param ", more+"  param ").Replace(planting)
	}
	prepare := func(t *testing.T, s stance) *arena {
		a := newArenaFor(t, s, nil)
		hcl := fmt.Sprintf("sandbox {\n  level = %q\n  network = \"allow\"\n}\n", s.level) + tool("strong", "") +
			tool("offline", "  network = \"deny\"\n") + tool("reader", "  risk = \"read_only\"\n")
		a.write(a.ws, "agent.hcl", hcl, 0o644)
		a.whole = map[string][]string{program: {"good\n"}, "agent.hcl": {hcl}}
		return a
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := prepare(t, s)
			a.arm()
			h := a.serve(nil)
			r := h.call("strong", planted(t, `echo good > "$npm_config_cache/program"; echo "$npm_config_cache"`))
			require.FileExists(t, filepath.Join(a.ws, program), "%s", r.text)
			for _, weak := range []string{"offline", "reader"} {
				for _, way := range append(slices.Clone(lendingWays), `echo evil > "$npm_config_cache/program"`) {
					tally.note(tally.cases, "protect", s.String()+" lent by "+weak+": "+way)
					h.call(weak, planted(t, strings.ReplaceAll(way, "F", program)))
				}
			}
			for name, params := range fileTools {
				tally.note(tally.cases, "protect", s.String()+" lent by "+name+" to all")
				assert.True(t, h.call(name, strings.ReplaceAll(params, "F", program)).failed, name)
			}
			assert.Empty(t, a.inspect())
			h.stop()
		})
	}
	a := prepare(t, usual())
	a.write(a.ws, program, "good\n", 0o644)
	a.arm()
	a.asUser("echo evil > " + program)
	control(t, "protect", "lent to all", checkWhole, a.inspect())
}

// TestARunningGrantIsNotLent has a block without a grant try to reach a running one with a grant: its
// memory, environment, files and processes.
func TestARunningGrantIsNotLent(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "perl")
	const config = `tool "strong" {
  description = "Run. Returns: output."
  network     = "allow"
  command {
    argv = ["sh", "-c", <<-SH
      echo good > $TMPDIR/MARK; echo ready > ready
      while [ ! -e stop ]; do sleep 0.05; done
      cat $TMPDIR/MARK
    SH
    ]
    env  = { TOKEN = "PLANTED" }
  }
}
tool "weak" {
  description = "Run. Returns: output."
  param "line" { type = string }
  command {
    argv  = ["sh"]
    stdin = param.line
  }
}
`
	const each = `for p in $(grep -ls {MARK} /proc/[0-9]*/cmdline); do p=${p%/cmdline}; `
	ways := []string{
		each + `tr '\0' '\n' < $p/environ; done`, each + `cat $p/mem $p/maps $p/stack; done`, each + `kill -9 ${p#/proc/}; done`,
		each + `kill -STOP ${p#/proc/}; done`, each + `echo evil > $p/root/tmp/{MARK}; done`, each + `echo evil > $p/fd/1; done`,
		each + `perl -e 'open F, "+<", "'$p'/mem" and print "opened evil\n"'; done`, each + `echo 1000 > $p/oom_score_adj; done`,
		`for f in /tmp/{MARK} /tmp/*/{MARK} {BASE}/tmp/*/{MARK} {HOME}/*/{MARK}; do echo evil > $f; done`,
		`find / -xdev -name {MARK} -exec sh -c 'echo evil > "$1"' x {} ';'`, `pkill -9 -f {MARK}`, `renice 19 -u 0 65534`,
	}
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, nil)
			text := strings.NewReplacer("MARK", a.mark, "PLANTED", a.secret).Replace(config) + s.block()
			a.write(a.ws, "agent.hcl", text, 0o600)
			a.arm()
			h := a.serve(nil)
			running := h.startCall("strong", `{}`)
			require.True(t, within(patience, func() bool { _, err := os.Stat(filepath.Join(a.ws, "ready")); return err == nil }))
			for _, way := range ways {
				tally.note(tally.cases, "processes", s.String()+" a running grant: "+way)
				params, err := json.Marshal(map[string]string{"line": a.fill(way) + "; true"})
				require.NoError(t, err)
				r := h.call("weak", string(params))
				assert.NotContains(t, strings.Join(r.said, " "), a.secret, way)
				assert.NotContains(t, r.text, "opened evil", way)
			}
			a.write(a.ws, "stop", "", 0o644)
			tally.note(tally.controls, "processes", s.String()+" a running grant")
			assert.Contains(t, fmt.Sprint(h.said(running)), "good", "it has run to its end")
			h.stop()
		})
	}
}
