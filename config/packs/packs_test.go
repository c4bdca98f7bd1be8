package packs

import (
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// inside refuses paths that lead out of the workspace by their names.
type inside struct{}

func (inside) Check(p string, _ argv.Kind) error {
	if path.IsAbs(p) || strings.HasPrefix(path.Clean(p), "..") {
		return tool.Errorf(tool.PathOutsideWorkspace, "outside")
	}
	return nil
}

func (inside) Glob(string) ([]string, error)  { return nil, nil }
func (inside) IsDir(string) bool              { return false }
func (inside) CheckTree(string, string) error { return nil }

func project(p *Pack) fstest.MapFS {
	dir := fstest.MapFS{}
	file := func(name, text string) { dir[name] = &fstest.MapFile{Data: []byte(text)} }
	for _, name := range p.detect {
		file(strings.ReplaceAll(name, "*", "x"), "")
	}
	for _, name := range p.beside {
		file(name, "")
	}
	for _, name := range []string{"Makefile", "justfile"} {
		file(name, "test:\n\ttrue\n")
	}
	file("mise.toml", "[tasks]\ntest = 'true'\n")
	file("go.work", "use (\n\t./a\n)\n")
	file("package.json", `{"scripts": {"test": "x"}, "devDependencies": {"vitest": "1", "jest": "1", "mocha": "1", "prettier": "1"}}`)
	file("pyproject.toml", "[tool.ruff]\n")
	for _, name := range p.unless {
		delete(dir, name)
	}
	return dir
}

// TestPacks checks that every pack has a text that is valid without a warning, formatted, with and without
// hosts, and examples and rejects that hold.
func TestPacks(t *testing.T) {
	all := All()
	assert.GreaterOrEqual(t, len(all), 40)
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			assert.NotEmpty(t, p.Description)
			assert.False(t, strings.HasSuffix(p.Description, "."), "a line of a list")
			if p.Name != "taskfile" {
				assert.NotEmpty(t, p.Needs)
				assert.NotEmpty(t, p.Tools)
			}
			dir := project(p)
			m, ok := p.In(dir)
			assert.Equal(t, len(p.detect) > 0, ok, "it is recognized")
			if strings.Contains(p.text, "pack.hosts") && len(p.hosts) == 0 {
				assert.NotEmpty(t, p.note, "what to write where no host is known")
			}
			for _, hosts := range [][]string{nil, {"packages.example.com"}} {
				env := map[string]string{"INDEX": "https://packages.example.com/${x}/"}
				if hosts == nil {
					env = nil
				}
				text := p.Render(dir, m, hosts, env)
				assert.Equal(t, env != nil && strings.Contains(p.text, "pack.env"),
					strings.Contains(text, `env     = { INDEX = "https://packages.example.com/$${x}/" }`), text)
				assert.NotContains(t, text, "pack.")
				assert.Equal(t, hosts != nil || len(p.hosts) > 0, !strings.Contains(text, `["HOST"]`) &&
					strings.Contains(text, "network") || !strings.Contains(p.text, "pack.hosts") && hosts != nil)
				formatted, diags := config.Format([]byte(text))
				require.NoError(t, diags.Err())
				assert.Equal(t, string(formatted), text, "it is laid out as fmt does")
				cfg, diags := config.Parse("agent.hcl", []byte(text), config.LoadOptions{
					Env: func(name string) (string, bool) { return "/x", true }})
				require.NoError(t, diags.Err(), text)
				assert.Empty(t, diags, text)
				assert.Empty(t, config.CheckExamples(cfg, inside{}), text)
				for _, spec := range cfg.Tools {
					assert.Contains(t, spec.Description, ". Returns: ", spec.Name)
					assert.LessOrEqual(t, len(spec.Name), 40)
				}
			}
		})
	}
}

// TestDetect checks what is written for a project, in order, and what else fits.
func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		written []string
		has     string
		others  []string
	}{
		"nothing":     {map[string]string{"README.md": ""}, nil, "", nil},
		"a Go module": {map[string]string{"go.mod": "module x\n"}, []string{"go"}, `"go", "test"`, nil},
		"a Go workspace": {map[string]string{"go.work": "go 1.26\n\nuse ./a\nuse (\n\t./b // x\n\t.\n)\n", "go.mod": ""},
			[]string{"go-workspace"}, `["./a", "./b", "."]`, nil},
		"a Taskfile": {map[string]string{"taskfile.yaml": ""}, []string{"taskfile"}, `path = "taskfile.yaml"`, nil},
		"Task's own order": {map[string]string{"Taskfile.dist.yml": "", "Taskfile.yml": ""}, []string{"taskfile"},
			`path = "Taskfile.yml"`, nil},
		"the usual Taskfile": {map[string]string{"Taskfile.yml": "", ".agent/Taskfile.yml": ""}, nil, "", nil},
		"scripts": {map[string]string{"package.json": `{"scripts":{"test":"x","build":"y","release":"z","prepare":"z"}}`},
			[]string{"npm"}, `["build", "test"]`, nil},
		"a lock file of npm": {map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "package-lock.json": ""},
			[]string{"npm"}, `["npm", "ci", `, nil},
		"scripts of pnpm": {map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""},
			[]string{"pnpm"}, `"pnpm", "run"`, nil},
		"two lock files": {map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-lock.yaml": "", "yarn.lock": ""},
			[]string{"pnpm"}, `"pnpm", "run"`, nil},
		"odd scripts": {map[string]string{"package.json": `{"scripts":{"a\"${x}":"x"}}`}, []string{"npm"},
			`["a\"$${x}"]`, nil},
		"no scripts":       {map[string]string{"package.json": `{"name":"x"}`}, nil, "", nil},
		"a broken package": {map[string]string{"package.json": `{`}, nil, "", nil},
		"Python":           {map[string]string{"setup.py": ""}, []string{"pip", "pytest"}, `"PATH=.venv/bin:`, nil},
		"Python with .venv": {map[string]string{"requirements.txt": "", "pytest.ini": "", ".venv/bin/python": ""},
			[]string{"pip", "pytest"}, `"env", ".venv/bin/python", "-m", "pytest"`, nil},
		"Python with a test": {map[string]string{"requirements.txt": "pytest\n", "test_a.py": ""}, []string{"pip", "pytest"},
			`"python3", "-m", "pytest"`, nil},
		"Python without tests": {map[string]string{"requirements.txt": "", "a.py": ""}, []string{"pip"}, "", nil},
		"uv": {map[string]string{"pyproject.toml": "[tool.ruff]\n", "uv.lock": ""}, []string{"uv", "pytest"},
			`"uv", "sync"`, []string{"ruff"}},
		"make": {map[string]string{"Makefile": "X := 1\n.PHONY: all\nall: build\nbuild-x:\n" +
			"\techo a: b\nV=1\n%.o: %.c\nall: more\ninstall: all\nrelease:\n"}, []string{"make"}, `["all", "build-x"]`, nil},
		"just": {map[string]string{"justfile": "x := 'y'\nset shell := ['sh']\ndefault:\n  echo a\n" +
			"@test name='a': default\n"}, []string{"just"}, `["default", "test"]`, nil},
		"mise": {map[string]string{"mise.toml": "[tools]\ngo = '1'\n[tasks.build]\nrun = 'x'\n[tasks]\nlint = 'y'\n"},
			[]string{"mise"}, `["build", "lint"]`, nil},
		"Rust": {map[string]string{"Cargo.toml": ""}, []string{"cargo"}, `"cargo", "test"`, nil},
		"all": {map[string]string{"go.mod": "", "Taskfile.yml": "", "package.json": `{"scripts":{"x":"y"}}`, "setup.py": "",
			"Cargo.toml": "", "tsconfig.json": "", ".git/HEAD": ""},
			[]string{"taskfile", "go", "cargo", "npm", "pip", "pytest"}, "", []string{"git", "tsc"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fstest.MapFS{}
			for file, content := range c.files {
				dir[file] = &fstest.MapFile{Data: []byte(content)}
			}
			written, others := Detect(dir)
			assert.Equal(t, c.written, namesOf(written))
			assert.Equal(t, c.others, namesOf(others))
			var texts []string
			for _, f := range written {
				texts = append(texts, f.Render(dir, f.Match, nil, nil))
			}
			text := File(texts)
			assert.Contains(t, string(text), c.has)
			_, diags := config.Parse("agent.hcl", text, config.LoadOptions{})
			assert.Empty(t, diags, "neither a mistake nor a warning")
			formatted, _ := config.Format(text)
			assert.Equal(t, string(formatted), string(text), "it is laid out as fmt does")
		})
	}
}

func namesOf(found []Found) (names []string) {
	for _, f := range found {
		names = append(names, f.Name)
	}
	return names
}

// TestHosts finds hosts in programs' settings.
func TestHosts(t *testing.T) {
	setting := func(pack string, i int) Setting { return settingOf(t, pack, i) }
	for name, c := range map[string]struct {
		setting Setting
		text    string
		want    []string
	}{
		"a registry":       {setting("npm", 0), "https://Packages.example.com/npm/\n", []string{"packages.example.com"}},
		"with a login":     {setting("npm", 0), "https://me:pw@packages.example.com:8443/\n", []string{"packages.example.com:8443"}},
		"of this machine":  {setting("npm", 0), "http://127.0.0.1:4873/\n", []string{"localhost:4873"}},
		"without its port": {setting("npm", 0), "http://localhost/\n", []string{"localhost:80"}},
		"module proxies": {setting("go", 0), "https://a.example.com,https://b.example.com/x|direct\n",
			[]string{"a.example.com", "b.example.com"}},
		"no proxy":            {setting("go", 0), "off\n", nil},
		"a checksum database": {setting("go", 1), "sum.example.com\n", []string{"sum.example.com"}},
		"none":                {setting("go", 1), "off\n", nil},
		"what pip's help says": {setting("pip", 1), "Base URL of the Index (default\n    https://index.example.com/simple).",
			[]string{"index.example.com"}},
		"two more indexes of pip": {setting("pip", 0), `global.extra-index-url='https://a.example.com/x\nhttps://b.example.com'` + "\n",
			[]string{"a.example.com", "b.example.com"}},
		"a remote over https": {setting("git-push", 0), "\turl = https://git.example.com/a/b.git\n", []string{"git.example.com"}},
		"over ssh":            {setting("git-push", 0), "\turl = ssh://git@git.example.com/a\n", []string{"git.example.com:22"}},
		"in scp's way":        {setting("git-push", 1), "\turl = git@git.example.com:a/b.git\n", []string{"git.example.com:22"}},
		"a sparse index": {setting("cargo", 0), "registry = \"sparse+https://crates.example.com/index/\"\n",
			[]string{"crates.example.com"}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, c.setting.Hosts(c.text)) })
	}
}

func settingOf(t *testing.T, pack string, i int) Setting {
	t.Helper()
	for _, p := range All() {
		if p.Name == pack {
			return p.Settings[i]
		}
	}
	t.Fatal(pack)
	return Setting{}
}

// TestValue finds the URLs for programs' variables, and withholds those with credentials.
func TestValue(t *testing.T) {
	extra, index := settingOf(t, "pip", 0), settingOf(t, "pip", 2)
	npm, yarn, uv := settingOf(t, "npm", 1), settingOf(t, "yarn", 1), settingOf(t, "uv", 1)
	for name, c := range map[string]struct {
		setting  Setting
		text     string
		want     string
		withheld bool
	}{
		"pip's index": {index, "global.extra-index-url='https://b.example/s'\nglobal.index-url='https://a.example/s'\n",
			"https://a.example/s", false},
		"pip's index for install": {index, "global.index-url='https://a.example/s'\ninstall.index-url='https://b.example/s'\n",
			"https://b.example/s", false},
		"pip's index in the environment": {index, ":env:.index-url='https://c.example'\ninstall.index-url='https://b.example/s'\n",
			"https://c.example", false},
		"pip's default index": {index, "global.cert='x'\nglobal.extra-index-url='https://b.example/s'\n", "", false},
		"more indexes of pip": {extra, `global.extra-index-url='https://a.example/s\nhttps://b.example/s'`,
			"https://a.example/s https://b.example/s", false},
		"one of them with a password": {extra, `global.extra-index-url='https://a.example/s\nhttps://me:pw@b.example/s'`, "", true},
		"with a user's name":          {index, "global.index-url='https://me@a.example/s'\n", "", true},
		"with a query":                {index, "global.index-url='https://a.example/s?token=x'\n", "", true},
		"broken, with a password":     {index, "global.index-url='https://me:%zz@a.example/s'\n", "", true},
		"without a scheme":            {index, "global.index-url='me:pw@a.example/s'\n", "", false},
		"a directory":                 {index, "global.index-url='file:///srv/index'\n", "", false},
		"npm's registry": {npm, "; \"user\" config from /x/.npmrc\n\n//a.example/:_authToken = (protected)\n" +
			"registry = \"http://127.0.0.1:4873/npm/\"\n", "http://127.0.0.1:4873/npm/", false},
		"npm's, overridden": {npm, "; registry = \"https://a.example/\" ; overridden by env\n\nregistry = \"https://b.example/\"\n",
			"https://b.example/", false},
		"npm's, with a password":      {npm, "registry = \"https://me:***@a.example/\"\n", "", true},
		"npm's default":               {npm, "; node version = v20\n@x:registry = \"https://a.example/\"\n", "", false},
		"where the project names one": {yarn, "registry = \"https://a.example/\"\n", "", false},
		"uv's index": {uv, "offline = false\nindex-url = \"https://a.example/s\"\n[pip]\nindex-url = \"https://b.example\"\n",
			"https://a.example/s", false},
		"uv's default of many": {uv, "[[index]]\nurl = \"https://a.example\"\n[[index]]\nname = \"b\"\nurl = \"https://b.example\"\n" +
			"default = true\n", "https://b.example", false},
		"uv's further index": {uv, "[[index]]\nurl = \"https://a.example\"\n[pip]\nindex-url = \"https://b.example\"\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			project := fstest.MapFS{".npmrc": {Data: []byte("engine-strict=true\n@x:registry=https://x.example/\n")},
				".yarnrc.yml": {Data: []byte("nodeLinker: pnp\nnpmRegistryServer: https://x.example\n")}}
			value, withheld := c.setting.Value(project, c.text)
			assert.Equal(t, c.want, value)
			assert.Equal(t, c.withheld, withheld)
		})
	}
}
