package taskfile_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/taskfile"
)

// A command's output and exit are those of the real task.
func TestRunEqualsTask(t *testing.T) {
	testneed.NotShort(t, "compares many files with task itself")
	for _, name := range []string{
		"default", "zebra", "build", "b", "undescribed", "args", "fail", "fail-in-dep", "ignore", "deferred",
		"bad-variable",
		"bad-command", "noeol", "bytes", "unicode-ü-日本", "multi", "stdin", "where", "once", "fresh", "grouped",
		"start:it",
		"conditional", "precondition", "recurse", "requiring",
	} {
		t.Run(name, func(t *testing.T) {
			p, q := newProject(t, "plain"), newProject(t, "plain")
			for range 2 {
				var got run
				result, err := p.call(t.Context(), "run_command",
					map[string]any{"command": name, "args": "one 'two words'"})
				require.NoError(t, err)
				got = decode(t, result)
				stdout, stderr, code := q.real("--exit-code", name, "--", "one", "two words")
				assert.Equal(t, strings.ToValidUTF8(strings.ReplaceAll(stdout, q.dir, p.dir), "\ufffd"), got.Stdout)
				assert.Equal(t, strings.ReplaceAll(taskExe(t, stderr), q.dir, p.dir), taskExe(t, got.Stderr))
				assert.Equal(t, code, got.ExitCode)
				assert.Equal(t, code != 0, result.Failed != nil)
			}
		})
	}
}

func taskExe(t *testing.T, s string) string {
	t.Helper()
	ours, err := child()
	require.NoError(t, err)
	theirs, err := task()
	require.NoError(t, err)
	return strings.NewReplacer(ours, "TASK", theirs, "TASK").Replace(s)
}

func TestRunResult(t *testing.T) {
	p := newProject(t, "plain")
	r, result := p.run("fail", "")
	assert.Equal(t, 42, r.ExitCode)
	assert.Equal(t, "out\n", r.Stdout)
	assert.Contains(t, r.Stderr, "err\n")
	require.NotNil(t, result.Failed)
	assert.Equal(t, tool.CommandFailed, result.Failed.Code)
	assert.Equal(t, "command 'fail' failed with exit code 42", result.Failed.Message)
	assert.Contains(t, result.Text(), "exit code 42")
	assert.True(t, strings.HasSuffix(result.Text(), "\n\n"+result.Failed.Suggestion),
		"the next step is in the text, all that many models see")
	assert.Contains(t, result.Text(), "out\n")
	assert.Contains(t, result.Text(), "err\n")

	r, result = p.run("zebra", "")
	assert.Zero(t, r.ExitCode)
	assert.Nil(t, result.Failed)
	assert.Contains(t, result.Text(), "stdout:\nzebra\n")
}

// toolhost-task's GOGC does not reach commands.
func TestCommandsCollectAsTheyAreTold(t *testing.T) {
	t.Setenv("GOGC", "50")
	for name, tt := range map[string]struct {
		allowed []string
		want    string
	}{"of toolhost": {nil, "<>\n"}, "of the user": {[]string{"GOGC"}, "<50>\n"}} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, "", func(o *taskfile.Options) { o.Env = tt.allowed })
			p.write(".agent/Taskfile.yml", "version: '3'\ntasks: {show: {desc: x, cmds: ['echo \"<$GOGC>\"']}}\n")
			r, result := p.run("show", "")
			assert.Equal(t, tt.want, r.Stdout, result.Text())
		})
	}
}

// Values are templates to go-task, repeatedly if one is made of another.
func TestTemplatesInArgsAreData(t *testing.T) {
	testneed.NotShort(t, "starts hundreds of commands")
	p := newProject(t, "")
	p.write(".agent/Taskfile.yml", `version: '3'
tasks:
  direct:
    desc: x
    silent: true
    cmds: ['printf "<%s>\n" {{.CLI_ARGS}}']
  twice:
    desc: x
    silent: true
    vars: {ONE: '{{.CLI_ARGS}}'}
    cmds: [{task: inner, vars: {TWO: '{{.ONE}}'}}]
  inner:
    desc: x
    silent: true
    vars: {THREE: '{{.TWO}}'}
    cmds: ['printf "<%s>\n" {{.THREE}}']
  list:
    desc: x
    silent: true
    cmds: ['printf "<%s>\n" {{range .CLI_ARGS_LIST}}{{shellQuote .}} {{end}}']
`)
	for _, word := range []string{
		"{{.ROOT_DIR}}", "{{fail}}", "{{\"\\x27\"}}; touch pwned #", "{{`'; touch pwned; '`}}", "{{{{}}}}", "{", "{{",
		"{{{", "a{{b", "}}",
		"{<no value>{`'; touch pwned; '`}}", "<no value>", "{{/*", "{{- `x` -}}", "{\\{x}}", "{{\n}}", "{{\u0001'}}",
		"{'{`; touch pwned`}}",
	} {
		for _, name := range []string{"direct", "twice", "list"} {
			if name == "list" && strings.Contains(word, "<no value>") {
				continue // go-task removes it from every command line
			}
			r, result := p.run(name, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
			assert.Equal(t, "<"+word+">\n", r.Stdout, "%s %q\n%s", name, word, result.Text())
		}
	}
	assert.False(t, p.exists("pwned"))

	p.real("direct", "--", `{{"\x27"}}; touch pwned #`)
	assert.True(t, p.exists("pwned"), "the attack is a real one")
}

// The part of a name that a caller may choose is data too.
func TestOpenNames(t *testing.T) {
	p := newProject(t, "plain")
	r, _ := p.run("start:web-1.ü", "")
	assert.Equal(t, "start web-1.ü\n", r.Stdout)
	for _, name := range []string{"start:; touch pwned", "start:$(touch pwned)", "start:a b", "start:'",
		"start:{{fail}}", "start:a\ntouch pwned", "start:`x`", "start:>pwned"} {
		want := tool.InvalidArgument
		if strings.Contains(name, "\n") {
			want = tool.NotFound // "*" matches one line
		}
		e := p.fails("run_command", map[string]any{"command": name})
		assert.Equal(t, want, e.Code, name)
		e = p.fails("task", map[string]any{"args": "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"})
		assert.Equal(t, want, e.Code, name)
	}
	assert.False(t, p.exists("pwned"))
}

// A run does not see an earlier one's variables.
func TestRunsAreFresh(t *testing.T) {
	p := newProject(t, "")
	p.write(".agent/Taskfile.yml",
		"version: '3'\nvars: {N: {sh: cat n}}\ntasks:\n  show: {desc: x, run: once, silent: true, cmds: ['echo {{.N}}']}\n")
	for _, n := range []string{"1", "2"} {
		p.write("n", n)
		r, _ := p.run("show", "")
		assert.Equal(t, n+"\n", r.Stdout)
	}
}

func TestOddNames(t *testing.T) {
	p := newProject(t, "odd")
	for name, want := range map[string]string{
		"with space": "space", "--list": "option", "-x": "short", "a=b": "equals", "quo'te\"": "quotes",
		"$(touch pwned)": "command", "@x": "at", ".": "dot", "../up": "up", "*": "star",
	} {
		r, _ := p.run(name, "")
		assert.Equal(t, want+"\n", r.Stdout, name)
	}
	assert.False(t, p.exists("pwned"))
}

func TestArgsAreData(t *testing.T) {
	p := newProject(t, "plain")
	for args, want := range map[string]string{
		"":                               "<>\n0\n",
		"a":                              "<a>\n1\n",
		"a  b":                           "<a>\n<b>\n2\n",
		"'; touch pwned'":                "<; touch pwned>\n1\n",
		"'$(touch pwned)' '`touch x`'":   "<$(touch pwned)>\n<`touch x`>\n2\n",
		"'&& touch pwned #'":             "<&& touch pwned #>\n1\n",
		"CLI_ARGS=x CLI_ARGS_LIST=y":     "<CLI_ARGS=x>\n<CLI_ARGS_LIST=y>\n2\n",
		"-- --list --exact=fail -v":      "<-->\n<--list>\n<--exact=fail>\n<-v>\n4\n",
		`"quo\"te" 'sin'\''gle'`:         "<quo\"te>\n<sin'gle>\n2\n",
		"'{{.ROOT_DIR}}' '{{fail `x`}}'": "<{{.ROOT_DIR}}>\n<{{fail `x`}}>\n2\n",
		"'日本' ü\u0301":                   "<日本>\n<ü\u0301>\n2\n",
		"'two\nlines'":                   "<two\nlines>\n1\n",
		"''":                             "<>\n1\n",
		"source.*":                       "<source.txt>\n1\n",
		"no-such.*":                      "<no-such.*>\n1\n",
		"'source.*'":                     "<source.*>\n1\n",
	} {
		r, _ := p.run("args", args)
		assert.Equal(t, want, r.Stdout, args)
	}
	for _, args := range []string{"a; touch pwned", "a | b", "$(touch pwned)", "`touch pwned`", "a > pwned", "$HOME",
		"'open", "a && b"} {
		e := p.fails("run_command", map[string]any{"command": "args", "args": args})
		assert.Equal(t, tool.InvalidArgument, e.Code, args)
	}
	assert.False(t, p.exists("pwned"))
}

func TestUnknownCommand(t *testing.T) {
	p := newProject(t, "plain")
	for name, near := range map[string]string{"biuld": "'build'", "zebr": "'zebra'", "hidden": "", "xyzzy": "", "": "",
		"unicode": "'unicode-ü-日本'", "default ": "'default'"} {
		e := p.fails("run_command", map[string]any{"command": name})
		assert.Equal(t, tool.NotFound, e.Code, name)
		assert.Equal(t, "command '"+name+"' not found", e.Message)
		assert.Contains(t, e.Suggestion, near, name)
		assert.Contains(t, e.Suggestion, "list_commands")
		assert.NotContains(t, e.Suggestion, "hidden")
	}
	assert.False(t, p.exists("executed"), "nothing is computed for a command that does not exist")
}

func TestSpecialCommands(t *testing.T) {
	p := newProject(t, "plain")
	r, result := p.run("elsewhere", "")
	assert.Zero(t, r.ExitCode)
	assert.Contains(t, result.Text(), "not for this platform")

	r, result = p.run("watching", "")
	assert.Equal(t, "once\n", r.Stdout)
	assert.Nil(t, result.Failed)
	assert.Contains(t, result.Text(), "run once")

	r, result = p.run("asking", "")
	assert.NotZero(t, r.ExitCode)
	assert.Empty(t, r.Stdout)
	assert.Equal(t, tool.NeedsConfirmation, result.Failed.Code)

	r, result = p.run("requiring", "")
	assert.NotZero(t, r.ExitCode)
	assert.Equal(t, tool.InvalidArgument, result.Failed.Code)
	assert.Contains(t, result.Failed.Message, "NAME")
}

func TestCRLFTaskfileWithUnicode(t *testing.T) {
	p := newProject(t, "")
	p.write(".agent/Taskfile.yml",
		strings.ReplaceAll("version: '3'\ntasks:\n  e\u0301té:\n    desc: >-\n      Été\n      long\n"+
			"    silent: true\n    cmds:\n      - |\n        echo a\n        echo e\u0301\n", "\n", "\r\n"))
	assert.Equal(t, []command{{"e\u0301té", "Été long"}}, p.list().Commands)
	r, _ := p.run("e\u0301té", "")
	assert.Equal(t, "a\ne\u0301\n", strings.ReplaceAll(r.Stdout, "\r", ""))
}

// A limit ends everything that a command started.
func TestTimeLimit(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	var p *project
	var r run
	var result *tool.Result
	sleep := string(testproc.Sleep(t))
	testproc.LongEnough(1500*time.Millisecond, func(limit time.Duration) bool {
		p = newProject(t, "", func(o *taskfile.Options) { o.Timeout = limit })
		p.write(".agent/Taskfile.yml", `version: '3'
tasks:
  hang:
    desc: Hang with helpers
    silent: true
    cmds:
      - echo started
      - sh -c '`+sleep+` & echo $! >> pids; setsid `+sleep+` & sh -c "trap \"\" TERM; `+sleep+`" & echo $! >> pids; wait'
      - `+sleep+`
`)
		began := time.Now()
		r, result = p.run("hang", "")
		assert.Less(t, time.Since(began), limit+time.Minute)
		return p.exists("pids")
	})
	assert.Equal(t, "started\n", r.Stdout)
	assert.Equal(t, 124, r.ExitCode)
	assert.Equal(t, tool.Timeout, result.Failed.Code)
	p.assertGone()
}

func (p *project) assertGone() {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "pids"))
	require.NoError(p.t, err)
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		require.NoError(p.t, err)
		assert.Eventually(p.t, func() bool { return !testproc.Alive(pid) }, time.Minute, 20*time.Millisecond,
			"process %d lives on", pid)
	}
}

func TestCancelledRun(t *testing.T) {
	p := newProject(t, "")
	p.write(".agent/Taskfile.yml",
		"version: '3'\ntasks:\n  hang:\n    desc: x\n    silent: true\n    cmds:\n"+
			"      - defer: echo cleaned > cleaned\n      - echo here; echo $$ > ready; sh -c 'echo $$ >> "+
			"pids; exec "+string(testproc.Sleep(t))+"'\n")
	ctx, cancel := context.WithCancel(t.Context())
	testproc.WhenExists(t, filepath.Join(p.dir, "pids"), cancel)
	result, err := p.call(ctx, "run_command", map[string]any{"command": "hang"})
	require.NoError(t, err)
	assert.Equal(t, tool.Cancelled, result.Failed.Code)
	assert.Equal(t, "here\n", decode(t, result).Stdout)
	assert.True(t, p.exists("cleaned"), "deferred commands have their chance")
	p.assertGone()
}

// A successful command leaves no processes either.
func TestBackgroundProcessesEnd(t *testing.T) {
	p := newProject(t, "")
	p.write(".agent/Taskfile.yml",
		"version: '3'\ntasks:\n  spawn:\n    desc: x\n    silent: true\n    cmds:\n"+
			"      - sh -c '"+string(testproc.Sleep(t))+" & echo $! > pids'\n      - echo done\n")
	began := time.Now()
	r, result := p.run("spawn", "")
	assert.Less(t, time.Since(began), time.Minute)
	assert.Equal(t, "done\n", r.Stdout)
	assert.Nil(t, result.Failed)
	p.assertGone()
}

func TestLongOutput(t *testing.T) {
	p := newProject(t, "", func(o *taskfile.Options) { o.OutputCap = 1000 })
	p.write(".agent/Taskfile.yml", "version: '3'\ntasks:\n  flood: {desc: x, silent: true, cmds: ['seq 1 20000']}\n")
	r, result := p.run("flood", "")
	assert.True(t, result.Truncated)
	assert.Contains(t, r.Stdout, "left out")
	assert.True(t, strings.HasPrefix(r.Stdout, "1\n2\n"))
	assert.Contains(t, r.Stdout, "\n20000\n[", "the end of what was printed")
	assert.Regexp(t, `bytes are shown; the whole output is in \S+\]\n$`, r.Stdout,
		"the last line says where the rest is")
	require.Len(t, result.Artifacts, 1)
	data, err := os.ReadFile(filepath.Join(p.dir, result.Artifacts[0].Path))
	require.NoError(t, err)
	assert.EqualValues(t, len(data), result.Artifacts[0].Bytes)
	assert.Equal(t, 20000, strings.Count(string(data), "\n"))
}

func TestRunsAtTheSameTime(t *testing.T) {
	p := newProject(t, "plain")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			args := strconv.Itoa(i)
			result, err := p.call(context.Background(), "run_command", map[string]any{"command": "args", "args": args})
			if assert.NoError(t, err) {
				assert.Equal(t, "<"+args+">\n1\n", decode(t, result).Stdout)
			}
			_, err = p.call(context.Background(), "list_commands", map[string]any{})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
}
