package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// exampleProject is a copy of a project in examples/, for a user with a new home and no approvals.
type exampleProject struct {
	t   *testing.T
	dir string
	env []string
}

// copyExample copies a project, without build results, and sets the variables in more.
func copyExample(t *testing.T, name string, more ...string) *exampleProject {
	t.Helper()
	made := []string{".agent", ".task", "bin", "out", ".venv", "app.db"}
	dir, from := filepath.Join(t.TempDir(), name), filepath.Join("../../examples", name)
	require.NoError(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(made, entry.Name()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, from))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	}))
	env := environment(t.TempDir(),
		append([]string{"PATH=" + binaries + string(os.PathListSeparator) + os.Getenv("PATH")}, more...)...)
	env = slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, "TOOLHOST_TRUST=") })
	return &exampleProject{t, dir, env}
}

func (p *exampleProject) run(name string, args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}
	require.NoError(p.t, err)
	return out.String(), errs.String(), 0
}

func (p *exampleProject) toolhost(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	return p.run(filepath.Join(binaries, "toolhost"), args...)
}

func (p *exampleProject) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	require.NoError(p.t, err)
	return string(data)
}

// approve checks that agent.hcl's tools work only after toolhost trust, and that the file then needs no
// remark. own are its tools.
func (p *exampleProject) approve(own ...string) {
	p.t.Helper()
	listed, stderr, code := p.toolhost("list")
	require.Zero(p.t, code, stderr)
	for _, name := range own {
		assert.NotRegexp(p.t, `(?m)^`+name+` `, listed)
	}
	_, stderr, code = p.toolhost("trust", "--yes")
	require.Zero(p.t, code, stderr)
	stdout, stderr, code := p.toolhost("validate", "--strict")
	require.Zero(p.t, code, stderr)
	assert.Contains(p.t, stdout, "is valid")
	assert.Empty(p.t, stderr)
	_, stderr, code = p.toolhost("fmt", "--check")
	assert.Zero(p.t, code, stderr)
	listed, stderr, code = p.toolhost("list")
	require.Zero(p.t, code, stderr)
	assert.Empty(p.t, stderr)
	for _, name := range own {
		assert.Regexp(p.t, `(?m)^`+name+` `, listed)
	}
}

// projectCall is a tool's call and a regular expression for its output, followed by any error.
type projectCall struct {
	args  []string
	want  string
	fails bool
}

func (p *exampleProject) calls(calls []projectCall) {
	p.t.Helper()
	for _, c := range calls {
		stdout, stderr, code := p.toolhost(append([]string{"call"}, c.args...)...)
		if c.fails {
			assert.Contains(p.t, []int{exitFailed, exitUsage}, code, "%v: %s", c.args, stdout)
			assert.Regexp(p.t, c.want, stdout+stderr, c.args)
			continue
		}
		require.Zero(p.t, code, "%v: %s", c.args, stderr)
		assert.Regexp(p.t, c.want, stdout, c.args)
	}
}

// commands returns those of the project's README, which fits on a screen.
func (p *exampleProject) commands() []string {
	p.t.Helper()
	page := p.read("README.md")
	assert.LessOrEqual(p.t, strings.Count(page, "\n"), 45, "a README of one screen")
	return fenced(page, "sh")
}

// shell runs commands as typed, and returns their output.
func (p *exampleProject) shell(script string) (stdout string) {
	p.t.Helper()
	stdout, stderr, code := p.run("sh", "-euc", script)
	require.Zero(p.t, code, "%s\n%s%s", script, stdout, stderr)
	return stdout
}

func TestNodeProject(t *testing.T) {
	testneed.NotShort(t, "needs other programs and packages")
	installed(t, "node", "sqlite3")
	p := copyExample(t, "node-web")
	p.approve("query_db", "db_schema", "run_tests", "lint")
	p.calls([]projectCall{
		{[]string{"query_db", "sql=SELECT 1"}, `unable to open database`, true},
		{[]string{"list_commands"}, `"name":"db".*"name":"test".*"name":"check"`, false},
		{[]string{"run_command", "command=db"}, `(?m)^3 bookmarks$`, false},
		{[]string{"query_db", "sql=SELECT id, tag FROM bookmarks WHERE id < 3"},
			`^\[\{"id":1,"tag":"node"\},\s*\{"id":2,"tag":"sql"\}\]\n$`, false},
		{[]string{"query_db", "sql=SELECT id FROM bookmarks WHERE id > 3"}, `^\[\]\n$`, false},
		{[]string{"query_db", "sql=WITH x AS (SELECT 1) DELETE FROM bookmarks"}, `readonly database`, true},
		{[]string{"query_db", "sql=SELECT writefile('out.txt', 'x')"}, `safe mode`, true},
		{[]string{"query_db", "sql=.shell id"}, `must match the pattern`, true},
		{[]string{"db_schema"}, `CREATE TABLE bookmarks`, false},
		{[]string{"run_tests"}, `(?s)# pass 4\n# fail 0\n`, false},
		{[]string{"run_tests", "name=once"}, `(?s)ok 2 - adds a bookmark once\n.*# pass 1\n`, false},
		{[]string{"lint"}, `^files: 5, no mistake\n$`, false},
		{[]string{"lint", `files=["../x.js"]`}, `outside the workspace`, true},
		{[]string{"write_file", "path=src/bad.js", "content=var x = ;\n"}, ``, false},
		{[]string{"lint", `files=["src/bad.js"]`}, `(?s)src/bad\.js: SyntaxError.*src/bad\.js:1: var`, true},
		{[]string{"run_command", "command=check"}, `src/bad\.js`, true},
		{[]string{"delete_file", "path=src/bad.js"}, ``, false},
		{[]string{"run_command", "command=check"}, `(?s)files: 5, no mistake.*# fail 0`, false},
		{[]string{"write_file", "path=db/schema.sql", "content=x"}, `protected`, true},
	})
	listed, stderr, code := p.toolhost("list", "--toolset", "review")
	require.Zero(t, code, stderr)
	assert.NotContains(t, listed, "dangerous")
	assert.Contains(t, p.shell(strings.Join(p.commands(), "\n")), `{"tag":"sql","n":2}]`)
}

func TestPythonProject(t *testing.T) {
	testneed.NotShort(t, "needs other programs and packages")
	installed(t, "python3")
	p := copyExample(t, "python-data")
	p.approve("summarize", "check_csv", "run_tests")
	p.calls([]projectCall{
		{[]string{"list_commands"}, `"name":"venv".*"name":"clean".*"name":"summarize".*"name":"test"`, false},
		{[]string{"summarize", "file=data/sales.csv"},
			`row 6 of data/sales\.csv cannot be used: quantity is not a number; clean it first`, true},
		{[]string{"run_tests", `modules=["tests.test_steps.Steps.test_revenue_is_exact"]`}, `(?s)Ran 1 test .*OK`,
			false},
		{[]string{"run_command", "command=summarize"}, `(?m)^6 rows kept, 1 rejected$`, false},
		{[]string{"summarize", "file=out/clean.csv", "by=month"},
			`(?s)"2026-02",\s*"quantity": 16,\s*"revenue": "1171.00"`, false},
		{[]string{"summarize", "file=out/clean.csv", "by=price"}, `region`, true},
		{[]string{"summarize", "file=/etc/passwd"}, `outside the workspace`, true},
		{[]string{"check_csv"}, `^data/sales\.csv: ok\n$`, false},
		{[]string{"check_csv", "dir=out"}, `^out/clean\.csv: ok\nout/rejected\.csv: ok\n$`, false},
		{[]string{"write_file", "path=out/bad.csv", "content=a,b\n1\n"}, ``, false},
		{[]string{"check_csv", "dir=out"}, `out/bad\.csv: rows of \[1, 2\] fields`, true},
		{[]string{"write_file", "path=data/sales.csv", "content=x"}, `protected`, true},
		{[]string{"run_command", "command=test"}, `(?s)Ran 3 tests .*OK`, false},
	})
	assert.Equal(t, "date,region,product,quantity,price,reason\n2026-03-03,north,chair,six,89.00,quantity is not a number\n", p.read(
		"out/rejected.csv"))
	assert.JSONEq(t, `[{"product":"chair","quantity":4,"revenue":"356.00"},{"product":"desk","quantity":3,"revenue":"901.00"},
		{"product":"lamp","quantity":18,"revenue":"423.20"}]`, p.read("out/by-product.json"))
	home, _, _ := p.run(".venv/bin/python", "-c", "import sys; print(sys.prefix)")
	assert.Equal(t, filepath.Join(p.dir, ".venv")+"\n", home, "the interpreter of the project is used")
	assert.Contains(t, p.shell(strings.Join(p.commands(), "\n")), "six,89.00,quantity is not a number")
}

// TestGoProject builds the project's programs as its README says. In the repository they belong to
// toolhost's module; a copy elsewhere gets one.
func TestGoProject(t *testing.T) {
	testneed.NotShort(t, "builds and tests a project")
	installed(t, "go")
	var own struct{ GOCACHE, GOMODCACHE, GOPROXY, GOSUMDB, GOFLAGS, CGO_ENABLED string }
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json").Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &own))
	p := copyExample(t, "go-monorepo", "GOCACHE="+own.GOCACHE, "GOMODCACHE="+own.GOMODCACHE, "GOPROXY="+own.GOPROXY,
		"GOSUMDB="+own.GOSUMDB, "GOFLAGS="+own.GOFLAGS, "CGO_ENABLED="+own.CGO_ENABLED)
	commands := p.commands()
	require.Len(t, commands, 2)
	p.build(commands[0])

	p.approve("go_test", "affected_modules", "decisions_list", "decisions_add")
	p.calls([]projectCall{
		{[]string{"list_commands"}, `"name":"test".*"name":"money:test".*"name":"orders:run".*"name":"orders:vet"`,
			false},
		{[]string{"run_command", "command=orders:run", "args=12.50 3 0.99"}, `(?m)^16\.49$`, false},
		{[]string{"run_command", "command=invoices:run", "args=free"}, `"free" is not an amount`, true},
		{[]string{"go_test", "module=libs/money", "run=Parse"}, `ok\s+example\.org/shop/money`, false},
		{[]string{"go_test", "module=tools"}, `libs/money`, true},
		{[]string{"affected_modules", `files=["libs/money/money.go"]`},
			`^\{"modules":\["libs/money","services/invoices","services/orders"\]\}\n$`, false},
		{[]string{"affected_modules", `files=["services/orders/main.go","README.md"]`},
			`^\{"modules":\["services/orders"\]\}\n$`, false},
		{[]string{"affected_modules", `files=["README.md"]`}, `^\{"modules":\[\]\}\n$`, false},
		{[]string{"affected_modules"}, `files`, true},
		{[]string{"decisions_list"}, `"number":"0002","title":"Every service is a module of its own"`, false},
		{[]string{"decisions_add", "title=Dates are UTC", "reasons=They sort.", "--yes"}, `"number":"0003"`, false},
		{[]string{"decisions_add", "title=!", "reasons=x", "--yes"}, `is not one line with letters`, true},
		{[]string{"edit_file", "path=libs/money/money.go", "old_str=/100", "new_str=/10"}, ``, false},
		{[]string{"run_command", "command=test"}, `(?s)FAIL: TestString`, true},
		{[]string{"write_file", "path=taskfiles/go.yml", "content=x"}, `protected`, true},
		{[]string{"write_file", "path=bin/mcp-decisions", "content=x"}, `protected`, true},
	})
	assert.Equal(t, "# Dates are UTC\n\nThey sort.\n", p.read("docs/decisions/0003-dates-are-utc.md"))
	_, _, code := p.toolhost("call", "decisions_add", "title=Prices are gross", "reasons=x")
	assert.Equal(t, exitDenied, code, "a decision waits for a person")
	listed, stderr, code := p.toolhost("list", "--toolset", "review")
	require.Zero(t, code, stderr)
	assert.NotContains(t, listed, "decisions_add")
	_, stderr, code = p.toolhost("undo")
	require.Zero(t, code, stderr)
	p.calls([]projectCall{{[]string{"run_command", "command=test"},
		`(?s)ok\s+example\.org/shop/money.*ok\s+example\.org/shop/invoices`, false}})
	assert.Contains(t, p.shell(commands[1]), `{"number":"0004","title":"Prices are net"}`)
}

// build runs the project's build command, in a module that takes toolhost from this checkout.
func (p *exampleProject) build(command string) {
	p.t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(p.t, err)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(p.t, err)
		require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), data, 0o644))
	}
	p.shell("export GOFLAGS=\"${GOFLAGS-} -mod=mod\"\n" + // as in the Makefile, to share its build cache
		"go mod edit -module=example.org/shop/tools -require=github.com/toolhost/toolhost@v0.0.0 " +
		"-replace=github.com/toolhost/toolhost='" + root + "'\n" + command)
	require.NoError(p.t,
		errors.Join(os.Remove(filepath.Join(p.dir, "go.mod")), os.Remove(filepath.Join(p.dir, "go.sum"))))
}
