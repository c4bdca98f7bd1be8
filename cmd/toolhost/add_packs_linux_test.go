package main

import (
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

// larder is a project to which toolhost add has added packs.
func larder(t *testing.T, files texts, packs ...string) *exampleProject {
	t.Helper()
	dir := t.TempDir()
	plant(t, dir, files)
	path := "PATH=" + binaries + string(os.PathListSeparator) + os.Getenv("PATH")
	p := &exampleProject{t, dir, environment(t.TempDir(), path)}
	stdout, stderr, code := p.toolhost(append([]string{"add", "--yes"}, packs...)...)
	require.Zero(t, code, "%s%s", stdout, stderr)
	return p
}

// offline removes the lists of hosts, which some sandbox levels do not support.
func (p *exampleProject) offline() {
	lines := strings.Split(p.read("agent.hcl"), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  network") })
	plant(p.t, p.dir, texts{"agent.hcl": strings.Join(lines, "\n")})
	_, stderr, code := p.toolhost("trust", "--yes")
	require.Zero(p.t, code, stderr)
}

// TestPacksRun calls packs' tools with their programs, in small projects, in the sandbox.
func TestPacksRun(t *testing.T) {
	testneed.NotShort(t, "starts the programs that packs wrap")
	for pack, c := range map[string]struct {
		needs []string
		files texts
		run   []string // the user's command before
		calls []projectCall
	}{
		"go": {[]string{"go"}, texts{"go.mod": "module example.org/x\n\ngo 1.21\n",
			"a.go":      "package x\n\nfunc Add(a, b int) int { return a + b }\n",
			"a_test.go": "package x\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"}, nil,
			[]projectCall{
				{[]string{"go_test"}, `^ok\s+example\.org/x`, false},
				{[]string{"go_build"}, `^$`, false},
				{[]string{"go_vet"}, `^$`, false},
				{[]string{"go_test", `packages=["-exec=sh"]`}, `dash`, true},
			}},
		"make": {[]string{"make"}, texts{"Makefile": "test:\n\t@echo tested\n"}, nil,
			[]projectCall{{[]string{"make", "target=test"}, `^tested\n$`, false}, {[]string{"make", "target=-f"}, `test`, true}}},
		"npm": {[]string{"npm", "node"}, texts{
			"package.json":       `{"name":"app","version":"1.0.0","scripts":{"test":"hello"},"dependencies":{"hello":"file:hello"}}`,
			"hello/package.json": `{"name":"hello","version":"1.0.0","bin":"hello.js"}`,
			"hello/hello.js":     "#!/usr/bin/env node\nconsole.log('hello', ...process.argv.slice(2))\n",
			"package-lock.json": `{"name":"app","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{
				"":{"name":"app","version":"1.0.0","dependencies":{"hello":"file:hello"}},
				"hello":{"version":"1.0.0","bin":{"hello":"hello.js"}},"node_modules/hello":{"resolved":"hello","link":true}}}`}, nil,
			[]projectCall{
				{[]string{"npm_install"}, `added 1 package`, false},
				{[]string{"script", "name=test", `args=["--all"]`}, `hello --all`, false},
			}},
		"eslint": {[]string{"npx", "node"}, texts{"package.json": `{"name":"app","version":"1.0.0"}`,
			"node_modules/eslint/package.json": `{"name":"eslint","version":"9.0.0","bin":"cli.js"}`,
			"node_modules/.bin/eslint":         "#!/usr/bin/env node\nconsole.log(process.argv.slice(2).join(' ')); process.exit(1)\n"}, nil,
			[]projectCall{
				{[]string{"eslint", `files=["package.json","-x"]`}, `^-- package\.json -x\n$`, false},
				{[]string{"eslint", `files=["/etc"]`}, `outside`, true},
			}},
		"pytest": {nil, texts{"tests/": "", ".venv/bin/python": "#!/bin/sh\necho \"$0 $*\"\n"}, nil,
			[]projectCall{
				{[]string{"pytest", "name=adds"}, `^\.venv/bin/python -m pytest -q -p no:cacheprovider -k=adds --\n$`, false},
				{[]string{"pytest", `paths=["tests"]`}, `cacheprovider -- tests\n$`, false},
				{[]string{"pytest", `paths=["../x"]`}, `outside`, true},
			}},
		"unittest": {[]string{"python3"}, texts{"tests/__init__.py": "",
			"tests/test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(1 + 1, 2)\n"}, nil,
			[]projectCall{{[]string{"unittest"}, `Ran 1 test`, false}}},
		"pip": {[]string{"python3"}, texts{"requirements.txt": "\n"}, nil,
			[]projectCall{{[]string{"pip_add", `packages=["https://x/y.zip"]`}, `pattern`, true}}},
		"git": {[]string{"git"}, texts{"a.txt": "a\n", "b.txt": "b\n"}, []string{"sh", "-c",
			"git init -q && git config user.email a@example.org && git config user.name a && git add a.txt && git commit -qm first"},
			[]projectCall{
				{[]string{"git_status"}, `(?m)^\?\? b\.txt$`, false},
				{[]string{"git_add", `files=["b.txt"]`}, ``, false},
				{[]string{"git_commit", "message=second", `files=["b.txt"]`}, `second`, false},
				{[]string{"git_log"}, `(?s)second.*first`, false},
				{[]string{"git_show", "commit=HEAD~1"}, `first`, false},
				{[]string{"git_show", "commit=--output=x"}, `pattern`, true},
			}},
		"sqlite3": {[]string{"sqlite3"}, texts{}, []string{"sqlite3", "app.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1)"},
			[]projectCall{
				{[]string{"sqlite3", "database=app.db", "sql=SELECT * FROM t"}, `^\[\{"a":1\}\]\n$`, false},
				{[]string{"sqlite3", "database=app.db", "sql=WITH x AS (SELECT 1) DELETE FROM t"}, `readonly`, true},
				{[]string{"sqlite3", "database=../app.db", "sql=SELECT 1"}, `outside`, true},
			}},
		"jq": {[]string{"jq"}, texts{"x.json": `{"a":"b"}`}, nil,
			[]projectCall{
				{[]string{"jq", "filter=.a", `files=["x.json"]`, "raw=true"}, `^b\n$`, false},
				{[]string{"jq", "filter=.", `files=["/etc/passwd"]`}, `outside`, true},
			}},
		"yq": {[]string{"yq"}, texts{"x.yaml": "a: b\n"}, nil,
			[]projectCall{{[]string{"yq", "filter=.a", `files=["x.yaml"]`}, `b`, false}}},
		"curl": {[]string{"curl"}, texts{}, nil,
			[]projectCall{{[]string{"curl", "url=file:///etc/passwd"}, `pattern`, true}}},
	} {
		t.Run(pack, func(t *testing.T) {
			installed(t, c.needs...)
			p := larder(t, c.files, pack)
			for _, name := range []string{".venv/bin/python", "node_modules/.bin/eslint", "hello/hello.js"} {
				if _, there := c.files[name]; there {
					require.NoError(t, os.Chmod(filepath.Join(p.dir, name), 0o755))
				}
			}
			if c.run != nil {
				_, stderr, code := p.run(c.run[0], c.run[1:]...)
				require.Zero(t, code, stderr)
			}
			p.offline()
			_, stderr, code := p.toolhost("validate")
			assert.Zero(t, code, stderr)
			p.calls(c.calls)
		})
	}
}

// TestPythonFromAFreshClone follows QUICKSTART.md: the environment is made by a tool, and by hand.
func TestPythonFromAFreshClone(t *testing.T) {
	testneed.NotShort(t, "makes Python environments")
	needsFull(t)
	installed(t, "python3")
	if exec.Command("python3", "-c", "import ensurepip").Run() != nil {
		testneed.Skip(t, "Python has no ensurepip")
	}
	for _, made := range []string{"by the tool", "by hand"} {
		t.Run(made, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, texts{"requirements.txt": "", "tests/": ""})
			p := &exampleProject{t, dir, environment(t.TempDir(), "PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"))}
			stdout, stderr, code := p.toolhost("init")
			require.Zero(t, code, "%s%s", stdout, stderr)
			if made == "by hand" {
				_, stderr, code = p.run("python3", "-m", "venv", ".venv")
				require.Zero(t, code, stderr)
			} else {
				p.calls([]projectCall{{[]string{"pip_install"}, `virtualenv`, true}, {[]string{"venv"}, ``, false}})
			}
			p.calls([]projectCall{{[]string{"pip_install"}, ``, false}})
		})
	}
}

// TestNPMWithoutNetworkFailsAtOnce: npm by itself retries for minutes.
func TestNPMWithoutNetworkFailsAtOnce(t *testing.T) {
	testneed.NotShort(t, "needs npm")
	installed(t, "npm", "node")
	p := larder(t, texts{"package.json": `{"name":"app","version":"1.0.0","scripts":{"x":"y"},"dependencies":{"no-such":"1"}}`}, "npm")
	p.offline()
	_, stderr, code := p.toolhost("call", "npm_install")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "network")
}

// TestQuickstart types the lines of docs/QUICKSTART.md in small projects that need no network, and
// connects a client.
func TestQuickstart(t *testing.T) {
	testneed.NotShort(t, "builds a project")
	page, err := os.ReadFile("../../docs/QUICKSTART.md")
	require.NoError(t, err)
	blocks := fenced(string(page), "sh")
	require.Len(t, blocks, 4)
	for i, c := range []struct {
		needs []string
		files texts
		said  string
	}{
		{[]string{"go"}, texts{"go.mod": "module example.org/x\n\ngo 1.21\n",
			"a_test.go": "package x\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\n"}, "example.org/x"},
		{[]string{"npm", "node"}, texts{"package.json": `{"scripts":{"test":"node test.js"}}`, "test.js": "console.log('tested')\n"}, "tested"},
		{nil, texts{"setup.py": "",
			".venv/bin/python": "#!/bin/sh\necho \"$*\"\n", ".venv/bin/python3": "#!/bin/sh\necho \"$*\"\n"}, "-m pytest"},
	} {
		t.Run(strings.Join(c.needs, "-"), func(t *testing.T) {
			installed(t, c.needs...)
			dir := t.TempDir()
			plant(t, dir, c.files)
			for name := range c.files {
				if strings.HasPrefix(name, ".venv/bin/") {
					require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o755))
				}
			}
			p := &exampleProject{t, dir, environment(t.TempDir(), "PATH="+binaries+string(os.PathListSeparator)+os.Getenv("PATH"))}
			all := ""
			for line := range strings.Lines(blocks[i] + blocks[3]) {
				if strings.Contains(line, "call venv") {
					continue // exists already
				}
				stdout, stderr, code := p.run("sh", "-c", line)
				require.Zero(t, code, "%s%s%s", line, stdout, stderr)
				all += stdout
			}
			assert.Contains(t, all, c.said)
			assert.Contains(t, all, "wrote the server toolhost")
		})
	}
}
