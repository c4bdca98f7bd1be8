package attack

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A command's changes in a view stay there until a user who has seen all of them approves, or limits
// allow them.

const reviewedLine = `
tool "line" {
  description = "Run."
  network     = "allow"
  param "line" { type = string }
  command { argv = ["sh", "-c", param.line] }
}
`

const reviewAll = "policy {\n  dangerous = \"review\"\n}\n" + reviewedLine

const reviewWithin = `policy {
  dangerous = "ask"
  rule "gen" {
    tool   = "line"
    action = "review"
    files  = 2
    paths  = ["gen/**"]
    bytes  = "10"
  }
}
` + reviewedLine

func reviewArena(t *testing.T, hcl string, files map[string]string) *arena {
	t.Helper()
	if report := sandbox.Detect(t.Context()); !report.Full.Works {
		testneed.Missing(t, report.Full.Reason)
	}
	if level() != sandbox.Auto && level() != sandbox.Full {
		testneed.Missing(t, "there are views at level full alone")
	}
	a := newArena(t, files)
	a.write(a.ws, "agent.hcl", hcl, 0o644)
	a.whole["agent.hcl"] = []string{hcl}
	out, err := a.run(nil, "call", "--dry-run", "line", "line=true")
	require.NoError(t, err, out)
	if strings.Contains(out, "is not known") {
		testneed.Missing(t, out)
	}
	return a
}

// tree lists the workspace.
func (a *arena) tree() string { return strings.Join(listing(a.ws), "\n") }

// shown returns the whole last question, including the file it was stored in.
func (a *arena) shown(c *asking) string {
	a.t.Helper()
	file := regexp.MustCompile(`(/\S+) \(sha256 ([0-9a-f]{64})\)`).FindStringSubmatch(c.asked)
	if file == nil {
		return c.asked
	}
	data, err := os.ReadFile(file[1])
	require.NoError(a.t, err)
	return c.asked + string(data)
}

func TestReviewedCommandsBreakOut(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := reviewArena(t, reviewAll, map[string]string{".git/config": "[core]\n"})
	a.whole[".git/config"] = []string{"[core]\n"}
	a.arm()
	before := a.tree()
	var lines strings.Builder
	for _, s := range forbidden {
		tally.note(tally.cases, "review", "in a view: "+s.name)
		lines.WriteString("(\n" + s.text + "\n) >/dev/null 2>&1\n")
	}
	for _, s := range []script{
		{"the layer itself", `for f in {HOME}/.local/state/toolhost/*/views/*/0/upper; do echo owned >$f/owned; done`},
		{"by the mounts",
			`for f in $(sed 's/.*upperdir=//;s/,.*//' /proc/self/mountinfo); do echo owned >$f/owned; done`},
		{"on behind the review", `sh -c 'while :; do echo {MARK} >>later.txt; done' &`},
		{"on in a session of its own", `setsid sh -c 'trap "" TERM HUP; while :; do echo {MARK} >>later.txt; done' &`},
	} {
		tally.note(tally.cases, "review", s.name)
		lines.WriteString("(\n" + s.text + "\n) >/dev/null 2>&1\n")
	}
	lines.WriteString("echo all >tried.txt\n")
	c := a.asking()
	asked := false
	text := c.call("line", scriptParams(t, a.fill(lines.String())), func(map[string]any) map[string]any {
		asked = true
		assert.Empty(t, a.inspect(c.asked), "while it waits")
		assert.Equal(t, before, a.tree(), "while it waits")
		return map[string]any{"action": "accept", "content": map[string]any{"decision": "deny"}}
	})
	assert.True(t, asked, text)
	shown := a.shown(c)
	assert.Contains(t, shown, "new file: tried.txt", "all were tried")
	assert.NotRegexp(t, "new file: .*owned", shown, "nothing came to the layer but through the view")
	assert.Empty(t, a.inspect(text), "after a no")
	assert.Equal(t, before, a.tree(), "after a no")

	tally.note(tally.controls, "review", "the same call after a yes")
	c.call("line", scriptParams(t, "echo all >tried.txt"), answers("accept", map[string]any{"decision": "once"}))
	assert.FileExists(t, filepath.Join(a.ws, "tried.txt"))
}

func TestForgedLayers(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, yes := range map[string]bool{"forged and approved": true, "forged and not approved": false} {
		a := reviewArena(t, reviewAll, map[string]string{"kept/a": "a\n", "kept/c": "c\n"})
		require.NoError(t, copyFile(player(), filepath.Join(a.ws, "forger")))
		a.arm()
		before := a.tree()
		args := []string{"call", "--json", "line", "line=ATTACK_ROLE=forge ./forger"}
		if yes {
			args = append(args, "--yes")
		}
		tally.note(tally.cases, "review", name)
		out, err := a.run(nil, args...)
		assert.Equal(t, yes, err == nil, out)
		assert.Empty(t, a.inspect(out), name)
		if !yes {
			assert.Equal(t, before, a.tree(), name)
			continue
		}
		tally.note(tally.controls, "review", "what the command sees is what comes")
		seen, err := os.ReadFile(filepath.Join(a.ws, "seen"))
		require.NoError(t, err)
		assert.Equal(t, string(seen), a.tree(), "what the command saw")
		assert.NotEqual(t, before, a.tree())
	}
}

func TestReviewedCommandTalks(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := reviewArena(t, reviewAll, nil)
	require.NoError(t, copyFile(player(), filepath.Join(a.ws, "forger")))
	var told atomic.Int64
	abstract := "@" + filepath.Base(a.base)
	for _, address := range []string{filepath.Join(a.ws, "s.sock"), abstract} {
		l, err := net.Listen("unix", address)
		require.NoError(t, err)
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				told.Add(1)
				_ = c.Close()
			}
		}()
	}
	a.arm()
	line := "line=ATTACK_ROLE=dial ATTACK_ABSTRACT=" + abstract + " ATTACK_CANARY=" + a.canary.Addr().String() +
		" ./forger"
	for _, how := range []string{"--dry-run", "--yes"} {
		tally.note(tally.cases, "review", "talk "+how)
		out, err := a.run(nil, "call", "--json", how, "line", line)
		require.NoError(t, err, out)
		assert.Contains(t, out, "dialled", "all were tried")
		assert.Empty(t, a.inspect(out), how)
		assert.Zero(t, told.Load(), how)
	}
	a.write(a.ws, "agent.hcl", reviewedLine, 0o644)
	out, err := a.run(nil, "call", "--json", "--yes", "line", line)
	require.NoError(t, err, out)
	control(t, "review", "without review it talks", checkServer, a.inspect(out))
}

// What is approved is what was shown.
func TestApprovedEffectsChange(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for name, change := range map[string]func(a *arena){
		"nothing":  func(*arena) {},
		"the file": func(a *arena) { a.write(a.ws, "ok.txt", "mine\n", 0o644) },
		"a link for the directory": func(a *arena) {
			require.NoError(a.t, os.Rename(filepath.Join(a.ws, "d"), filepath.Join(a.ws, "was")))
			a.link("../outside/dir", "d")
		},
		"the layer": func(a *arena) {
			kept, _ := filepath.Glob(filepath.Join(a.home, ".local/state/toolhost/*/views/*/0/upper/ok.txt"))
			require.Len(a.t, kept, 1)
			require.NoError(a.t, os.WriteFile(kept[0], []byte("evil\n"), 0o644))
		},
		"a file more": func(a *arena) {
			kept, _ := filepath.Glob(filepath.Join(a.home, ".local/state/toolhost/*/views/*/0/upper"))
			require.Len(a.t, kept, 1)
			require.NoError(a.t, os.WriteFile(filepath.Join(kept[0], "evil"), []byte("evil\n"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := reviewArena(t, reviewAll, map[string]string{"d/inner.txt": "in\n"})
			a.arm()
			c := a.asking()
			first := true
			changed := ""
			c.call("line", scriptParams(t, "echo shown >>ok.txt; echo shown >>d/inner.txt"),
				func(map[string]any) map[string]any {
					if !first {
						return map[string]any{"action": "accept", "content": map[string]any{"decision": "deny"}}
					}
					first = false
					change(a)
					changed = a.tree()
					return map[string]any{"action": "accept", "content": map[string]any{"decision": "once"}}
				})
			assert.False(t, first, "it was asked")
			if name == "nothing" {
				tally.note(tally.controls, "review", "effects as shown are put in")
				data, err := os.ReadFile(filepath.Join(a.ws, "ok.txt"))
				require.NoError(t, err)
				assert.Equal(t, "fine\nshown\n", string(data))
				return
			}
			tally.note(tally.cases, "review", "after it was shown, somebody changes "+name)
			assert.Empty(t, a.inspect())
			assert.Equal(t, changed, a.tree())
		})
	}
}

// The user sees exactly what will be applied.
func TestShownChangesHideNothing(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := reviewArena(t, reviewAll, map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/x": "",
		".git/objects/pack/x": "", ".git/objects/bb/" + strings.Repeat("2", 38): "\001\377"})
	a.arm()
	before := a.tree()
	c := a.asking()
	lie := "It changed no file."
	for name, x := range map[string]struct{ line, want string }{
		"ESC in a name":        {`echo payload >"$(printf 'a\033[2Kb')"`, "payload"},
		"a line end in a name": {`: >"$(printf 'a\n` + lie + `\nb')"; echo payload >p`, "payload"},
		"turned around":        {`echo payload >"$(printf 'a\342\200\256txt.b')"`, "payload"},
		"ESC in a content":     {`printf '\033[1A\033[2K\r` + lie + ` payload\n' >p`, "payload"},
		"a link's target":      {`ln -s "$(printf 'payload\n` + lie + `')" p`, "payload"},
		"in git's objects":     {`mkdir -p .git/objects/aa; echo payload >.git/objects/aa/run`, "payload"},
		"named as git's object": {`mkdir -p .git/objects/aa; ` +
			`echo payload >.git/objects/aa/` + strings.Repeat("0", 38), "payload"},
		"a program for git's object": {`mkdir -p .git/objects/aa; cp /bin/true .git/objects/aa/` +
			strings.Repeat("0", 38), "SHA-256"},
		"in what is not text": {`printf 'payload\000' >p`, "SHA-256"},
		"behind much":         {`seq 20000 >a; echo payload >z`, "payload"},
		"behind too much":     {`for n in 1 2 3 4 5 6 7 8 9 10; do yes n | head -c 900000 >a$n; done; echo payload >z`, "payload"},
		"removed objects":     {`rm .git/objects/bb/*`, "REMOVED: 1 objects"},
	} {
		tally.note(tally.cases, "review", "shown: "+name)
		c.asked = ""
		c.call("line", scriptParams(t, x.line), entersNo)
		shown := a.shown(c)
		_, effects, _ := strings.Cut(shown, "Files affected")
		if !assert.Contains(t, effects+shown[strings.Index(shown, "line")+len(x.line):], x.want, name) {
			t.Log(shown)
		}
		assert.Empty(t, unseen(shown), name)
		assert.NotContains(t, strings.Split(shown, "\n"), lie, name)
	}
	assert.Equal(t, before, a.tree())
	assert.Empty(t, a.inspect())
	tally.note(tally.controls, "review", "what is hidden is found")
	assert.Contains(t, strings.Split("a\n"+lie+"\nb", "\n"), lie)
}

// Limits apply at their bounds, and cannot be bypassed.
func TestLimitsOfReview(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := reviewArena(t, reviewWithin, map[string]string{"gen/old": "old\n", "src/main.txt": "main\n"})
	a.link("../src", "gen/way")
	a.link("../src/main.txt", "gen/file")
	a.arm()
	before := a.tree()
	for n, x := range []struct {
		name, line string
		within     bool
	}{
		{"two files", `echo a >gen/a; echo b >gen/b`, true},
		{"three files", `echo a >gen/a; echo b >gen/b; echo c >gen/c`, false},
		{"a directory counts", `mkdir gen/d; echo a >gen/d/a`, true},
		{"a directory and two files", `mkdir gen/d; echo a >gen/d/a; echo b >gen/d/b`, false},
		{"all bytes", `printf 1234567890 >gen/a`, true},
		{"a byte more", `printf 12345678901 >gen/a`, false},
		{"a byte more in two", `printf 123456 >gen/a; printf 12345 >gen/b`, false},
		{"a byte appended", `printf 1234567 >>gen/old`, false},
		{"a sparse file", `truncate -s 1G gen/a`, false},
		{"more than a view keeps", `truncate -s 1T gen/a`, false},
		{"another path", `echo x >src/x`, false},
		{"a path by dots", `echo x >gen/../src/x`, false},
		{"a like path", `mkdir GEN && echo x >GEN/x`, false},
		{"a path with a prefix", `echo x >gen.x`, false},
		{"through a link to a directory", `echo x >gen/way/x`, false},
		{"through a link to a file", `echo x >gen/file`, false},
		{"through a hard link", `ln src/main.txt gen/h; echo x >gen/h`, false},
		{"a removed file", `rm gen/old`, false},
		{"a renamed file", `mv gen/old gen/new`, false},
		{"renamed from elsewhere", `mv src/main.txt gen/m`, false},
		{"a removed link", `rm gen/way`, false},
		{"a directory for a file", `rm gen/old; mkdir gen/old`, false},
		{"a file for a link", `rm gen/file; echo x >gen/file`, false},
		{"a new link", `ln -s ../src gen/l`, false},
		{"a link for a file", `rm gen/old; ln -s ../src/main.txt gen/old`, false},
		{"a directory made again", `rm -r gen; mkdir gen; echo x >gen/x`, false},
		{"a mode elsewhere", `chmod 600 src/main.txt`, false},
		{"nothing at all", `true`, true},
	} {
		tally.note(tally.cases, "review", "limits: "+x.name)
		out, err := a.run(nil, "call", "--json", "line", "line="+x.line)
		assert.Equal(t, x.within, err == nil, "%s: %s", x.name, out)
		if err == nil && x.line != "true" {
			assert.NotEqual(t, before, a.tree(), x.name)
			tally.note(tally.controls, "review", "within limits "+strconv.Itoa(n))
			out, err = a.run(nil, "undo")
			require.NoError(t, err, out)
		}
		assert.Equal(t, before, a.tree(), x.name)
		assert.Empty(t, a.inspect(out), x.name)
	}
}

// An unapproved file cannot replace a question by a review.
func TestUnapprovedReview(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := reviewArena(t, "policy {\n  dangerous = \"ask\"\n}\n"+reviewedLine, map[string]string{"gen/old": "old\n"})
	a.arm()
	a.approve(a.ws)
	a.write(a.ws, "agent.hcl", reviewWithin, 0o644)
	a.whole["agent.hcl"] = []string{reviewWithin}
	tally.note(tally.cases, "review", "a rule that nobody has approved")
	out, err := a.run([]string{unapproved}, "call", "--json", "line", "line=echo a >gen/a")
	assert.Error(t, err, out)
	assert.NoFileExists(t, filepath.Join(a.ws, "gen/a"))
	assert.Empty(t, a.inspect(out))
	tally.note(tally.controls, "review", "the rule is approved")
	a.approve(a.ws)
	out, err = a.run([]string{unapproved}, "call", "--json", "line", "line=echo a >gen/a")
	require.NoError(t, err, out)
	assert.FileExists(t, filepath.Join(a.ws, "gen/a"))
}
