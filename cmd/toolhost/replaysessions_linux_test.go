package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

// invented is a call that a generated session makes.
type invented struct {
	tool   string
	params map[string]any
}

// inventor makes calls of one toolset. A nil function is a tool that it has not.
type inventor struct {
	toolset string
	write   func(path, text string) invented
	edit    func(path, old, now string) invented
	read    func(path string) invented
	run     func(command string) invented
	fetch   func(url string) invented
	others  []invented
}

// object pairs names with values.
func object(pairs ...any) map[string]any {
	o := make(map[string]any)
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i].(string)] = pairs[i+1]
	}
	return o
}

func inventors() []inventor {
	agentRun := func(command string) invented { return invented{"shell", object("script", command)} }
	return []inventor{
		{"", nil, func(p, old, now string) invented {
			return invented{"edit_file", object("path", p, "old_str", old, "new_str", now)}
		}, func(p string) invented { return invented{"read_file", object("path", p)} }, agentRun,
			func(url string) invented { return invented{"web_fetch", object("url", url)} },
			[]invented{{"echo", object("a", 1)}, {"echo", object("a", 2)},
				{"run_command", object("command", "count")}}},
		{"agent", func(p, text string) invented {
			return invented{"write_file", object("path", p, "content", text)}
		}, func(p, old, now string) invented {
			return invented{"edit_file", object("path", p, "old_str", old, "new_str", now)}
		}, func(p string) invented { return invented{"read_file", object("path", p)} }, nil,
			func(url string) invented { return invented{"web_fetch", object("url", url)} },
			[]invented{{"touch", object("args", "new.txt")}, {"cp", object("args", "a.txt copy.txt")},
				{"mv", object("args", "copy.txt d/moved.txt")}, {"rm", object("args", "new.txt")},
				{"mkdir", object("args", "-p e/f")}, {"list_files", object()}, {"rg", object("args", "line d a.txt")},
				{"run_command", object("command", "count")}, {"delete_file", object("path", "b.txt")},
				{"todowrite", object("todos_json", `[{"id":"1","content":"x","status":"pending","priority":"low"}]`)},
				{"todoread", object()}}},
		{"cliagent", func(p, text string) invented {
			return invented{"create_file", object("path", p, "content", text)}
		}, func(p, old, now string) invented {
			return invented{"replace_string_in_file", object("path", p, "old_string", old, "new_string", now)}
		}, func(p string) invented { return invented{"read_file", object("path", p)} },
			func(c string) invented { return invented{"run_in_terminal", object("command", c)} },
			func(url string) invented { return invented{"fetch_webpage", object("url", url)} },
			[]invented{{"list_dir", object("path", ".")}, {"grep_search", object("pattern", "line 1")},
				{"create_directory", object("path", "made/deep")}, {"terminal_last_command", object()}}},
		{"agentbench", nil, func(p, old, now string) invented {
			return invented{"apply_patch", object("unified_diff",
				fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ -1,1 +1,1 @@\n-%s\n+%s\n", p, p, old, now))}
		}, func(p string) invented { return invented{"read_file", object("path", p)} },
			func(c string) invented { return invented{"run", object("command", c)} }, nil,
			[]invented{{"list_files", object()}, {"search", object("query", "line 2")}}},
		{"clemini", func(p, text string) invented {
			return invented{"write_file", object("file_path", p, "content", text)}
		}, func(p, old, now string) invented {
			return invented{"edit", object("file_path", p, "old_string", old, "new_string", now)}
		}, func(p string) invented { return invented{"read_file", object("file_path", p)} },
			func(c string) invented { return invented{"bash", object("command", c, "confirmed", true)} },
			func(url string) invented { return invented{"web_fetch", object("url", url)} },
			[]invented{{"glob", object("pattern", "**/*.txt")}, {"grep", object("pattern", "line")},
				{"todo_write",
					object("todos", []any{object("content", "x", "status", "pending", "activeForm", "x")})}}},
		{"ocode", func(p, text string) invented {
			return invented{"file_write", object("path", p, "content", text, "create_dirs", true)}
		}, func(p, old, now string) invented {
			return invented{"file_edit", object("path", p, "old_text", old, "new_text", now)}
		}, func(p string) invented { return invented{"file_read", object("path", p)} },
			func(c string) invented { return invented{"bash", object("command", c)} }, nil,
			[]invented{{"file_ops", object("operation", "copy", "source", "a.txt", "destination", "copied.txt")},
				{"file_ops", object("operation", "remove", "source", "b.txt")}, {"think", object("task", "what next")},
				{"memory_write", object("key", "k", "value", "v")}, {"memory_read", object("key", "k")},
				{"diff", object("source1", "a.txt", "source2", "b.txt")},
				{"mcp", object("action", "call", "server", "up", "method", "echo", "params", object("a", 1))}}},
	}
}

// inventedCommands are what sessions run: what changes files in every way, what fails,
// and what no two runs print alike.
var inventedCommands = []string{
	"sort -r a.txt > sorted.txt", "cat a.txt b.txt", "cp a.txt d/copy.txt && chmod 700 d/copy.txt", "rm -f b.txt",
	"exit 3",
	"mkdir -p x/y && mv d/c.txt x/y/", "ln -sf a.txt link", "date +%Y-%m-%dT%H:%M:%S.%N", "pwd", "mktemp -u",
	"sed -i s/line/row/ a.txt", "chmod 600 a.txt", "printf '\\377\\000' > raw.bin", "cat none.txt", "rm -rf d",
	"for i in 1 2 3; do echo $i >> log.txt; done; wc -l < log.txt", "chmod +x d/run.sh && d/run.sh",
	"git --version >/dev/null; true",
}

// invent makes the next call of a session.
func (v *inventor) invent(r *rand.Rand, web string) invented {
	file := []string{"a.txt", "b.txt", "d/c.txt", "new.txt", "d/e/f.txt"}[r.IntN(5)]
	for {
		switch r.IntN(6) {
		case 0:
			if v.write != nil {
				return v.write(file, fmt.Sprintf("line 1 of %d\nline 2\n", r.IntN(100)))
			}
		case 1:
			return v.edit(file, "line 1", fmt.Sprintf("line 1, edited %d times", r.IntN(100)))
		case 2:
			return v.read(file)
		case 3:
			if v.run != nil {
				return v.run(inventedCommands[r.IntN(len(inventedCommands))])
			}
		case 4:
			if v.fetch != nil {
				return v.fetch(fmt.Sprintf("%s/page%d.html", web, r.IntN(3)))
			}
		default:
			return v.others[r.IntN(len(v.others))]
		}
	}
}

// countingSite never gives the same answer twice.
func countingSite(t *testing.T) *httptest.Server {
	var served atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>visit number %d</p>", served.Add(1))
	}))
	t.Cleanup(site.Close)
	return site
}

// sessionFiles are those of both checkouts.
func sessionFiles(upstream string) texts {
	return texts{
		"agent.hcl": fmt.Sprintf(`
policy {
  read_only  = "allow"
  safe_write = "allow"
  dangerous  = "allow"
}
web { allow = ["127.0.0.1"] }
mcp "up" { url = %q }
tool "shell" {
  description = "Run a script. Returns: what it prints."
  param "script" {}
  command { argv = ["sh", "-c", param.script] }
}
`, upstream),
		".agent/Taskfile.yml": "version: '3'\ntasks:\n  count:\n    desc: Count lines.\n" +
			"    cmds:\n      - cat a.txt | wc -l | tee count.txt\n",
		"a.txt": "line 1\nline 2\nline 3\n", "b.txt": "line 1\n", "d/c.txt": "line 1\nother\n",
		"d/run.sh": "#!/bin/sh\necho ran\n",
	}
}

// stranger is another user of the machine, as far as there can be one: with a
// home, a state and a copy of the programs of their own.
type stranger struct {
	home, bin  string
	credential *syscall.Credential
}

func newStranger(t *testing.T) *stranger {
	s := &stranger{home: t.TempDir(), bin: t.TempDir()}
	require.NoError(t, os.Chmod(filepath.Dir(s.home), 0o755))
	for _, name := range []string{"toolhost", "toolhost-task"} {
		data, err := os.ReadFile(filepath.Join(binaries, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.bin, name), data, 0o755))
	}
	if os.Getuid() == 0 {
		s.credential = &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{}}
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
		if err := cmd.Run(); err != nil {
			t.Logf("one user alone: nobody else can be one here: %v", err)
			s.credential = nil
		}
	}
	s.own(t, s.home)
	return s
}

// own gives a directory and all in it to the stranger.
func (s *stranger) own(t *testing.T, dir string) {
	if s.credential == nil {
		return
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(s.credential.Uid), int(s.credential.Gid))
	}))
}

// toolhost runs the program as the stranger.
func (s *stranger) toolhost(t *testing.T, dir string, stdin []byte, args ...string) (stdout, stderr string, code int) {
	var out, problems bytes.Buffer
	cmd := exec.Command(filepath.Join(s.bin, "toolhost"), args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(stdin), &out, &problems
	cmd.Env = append(environment(s.home), "XDG_STATE_HOME="+filepath.Join(s.home, "state"), "TMPDIR="+s.home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	if err := cmd.Run(); cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// TestReplayOfSessions records generated sessions over all toolsets, with edits,
// commands, pages and another server's tools, and replays each on a second
// checkout as another user, where neither site nor server is to be reached: the
// results and the trees are equal. With TOOLHOST_TEST_LONG there are 200 for the
// five toolsets.
func TestReplayOfSessions(t *testing.T) {
	testneed.NotShort(t, "repeats and kills sessions for seconds")
	rounds, calls := 1, 8
	if os.Getenv("TOOLHOST_TEST_LONG") != "" {
		rounds, calls = 40, 12
	}
	other := newStranger(t)
	outcomes := map[string]int{}
	for round := range rounds {
		for _, v := range inventors() {
			t.Run(fmt.Sprintf("%s %d", v.toolset, round), func(t *testing.T) {
				counts := replaySession(t, other, &v, rand.New(rand.NewPCG(uint64(round), uint64(len(v.toolset)))),
					calls)
				for outcome, n := range counts {
					outcomes[outcome] += n
				}
			})
		}
	}
	t.Logf("calls: %v", outcomes)
	assert.Positive(t, outcomes["same"])
	assert.Positive(t, outcomes["recorded"])
}

func replaySession(t *testing.T, other *stranger, v *inventor, r *rand.Rand, calls int) map[string]int {
	site := countingSite(t)
	upstream, _ := upstreamServer(t)
	here, there := t.TempDir(), t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(there), 0o755))
	for _, dir := range []string{here, there} {
		plant(t, dir, sessionFiles(upstream))
	}
	other.own(t, there)
	args := []string{"serve"}
	if v.toolset != "" {
		args = append(args, "--toolset", v.toolset)
	}
	home := t.TempDir()
	cmd := program(t, here, args...)
	cmd.Env = append(environment(home), "XDG_STATE_HOME="+filepath.Join(home, "state"))
	s := serveCommand(t, cmd)
	s.hello()
	for range calls {
		c := v.invent(r, site.URL)
		m := s.request("tools/call", map[string]any{"name": c.tool, "arguments": c.params})
		require.Nil(t, m.Error, "%v", c)
	}
	require.Equal(t, 0, s.end())
	site.Close()

	run := func(args ...string) []byte {
		t.Helper()
		cmd := program(t, here, args...)
		cmd.Env = append(environment(home), "XDG_STATE_HOME="+filepath.Join(home, "state"))
		out, err := cmd.Output()
		require.NoError(t, err, "%v: %s", args, problemsOf(err))
		return out
	}
	session := regexp.MustCompile(`mcp-[A-Z2-7]{10}`).Find(run("events", "--sessions"))
	require.NotNil(t, session)
	out, problems, code := other.toolhost(t, there, run("export", string(session), "--format", "replay"),
		"replay", "--from", "-", "--json")
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		var step struct{ Tool, Outcome, Why, Was, Is string }
		require.NoError(t, json.Unmarshal([]byte(line), &step))
		counts[step.Outcome]++
		if step.Why != "it was not allowed to run" { // a toolset refuses some commands for good
			assert.Contains(t, []string{"same", "recorded"}, step.Outcome, line)
		}
	}
	assert.Equal(t, 0, code, problems)
	assert.Equal(t, calls, counts["same"]+counts["recorded"]+counts["skipped"], problems)
	entries, err := os.ReadDir(other.home)
	require.NoError(t, err)
	assert.False(t, slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), "toolhost-")
	}), "nothing is left behind: %v", entries)
	return counts
}

// problemsOf is what a failed command has printed to stderr.
func problemsOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}
