package sandbox_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const goMain = `package main

import "fmt"

func main() { fmt.Println(Greeting()) }

func Greeting() string { return "hello" }
`

const goTest = `package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestGreeting(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if r, err := http.Get(server.URL); err != nil || r.StatusCode != 404 {
		t.Fatal(r, err)
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "x"), nil, 0o755); err != nil || Greeting() != "hello" {
		t.Fatal(err)
	}
}
`

const makefile = `all: out/prog
	./out/prog
out/prog: main.c
	mkdir -p out && $(CC) -o $@ $< && chmod 750 $@ && install -m 700 $@ out/installed && touch out/stamp
`

// project makes a small one of each kind.
func project(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.26\n", "main.go": goMain, "main_test.go": goTest,
		"Makefile": makefile, "main.c": "#include <stdio.h>\nint main(void) { puts(\"made\"); return 0; }\n",
		"index.js": `const {execSync} = require("child_process"); require("fs").writeFileSync("written", ` +
			`"x"); console.log(execSync("echo child").toString().trim());`,
		"dep/package.json": `{"name":"dep","version":"1.0.0","main":"m.js","bin":{"dep":"m.js"}}`,
		"dep/m.js":         "module.exports = 1\n",
		"package.json":     `{"name":"p","version":"1.0.0","dependencies":{"dep":"file:dep"}}`,
	} {
		testfile.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// TestProjects builds and tests projects at level full, and what level landlock can of it.
func TestProjects(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	tests := []struct {
		name, program, script, want string
		loopback                    bool // which level landlock does not have
	}{
		{"go build", "go", `rm -f main.c && go build -o prog . && ./prog`, "hello\n", false},
		{"go test", "go", `rm -f main.c && go vet . && go test . && echo passed`, "passed\n", true},
		{"git", "git", `git add . && git -c user.name=n -c user.email=e commit -qm first && git log ` +
			`--format=%s && git status --short && git gc -q`, "first\n", false},
		{"make", "gcc", `make -s`, "made\n", false},
		{"node", "node", `node index.js`, "child\n", false},
		{"npm", "npm", `npm install --offline --no-audit --no-fund >/dev/null && rm -rf node_modules && npm ci ` +
			`--offline --no-audit --no-fund >/dev/null && node -e 'console.log(require("dep"))'`, "1\n", false},
		{"pip", "python3", `python3 -m venv --without-pip --system-site-packages v && python3 -c '
import zipfile
z = zipfile.ZipFile("w-1-py3-none-any.whl", "w")
z.writestr("w.py", "x = 1")
z.writestr("w-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: w\nVersion: 1\n")
z.writestr("w-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
z.writestr("w-1.dist-info/RECORD", "")
z.close()' && v/bin/python -m pip install --no-index -q ./w-1-py3-none-any.whl && v/bin/python -c 'import w; print(w.__file__[-19:])'`,
			"/site-packages/w.py\n", false},
		{"cargo", "cargo", `mkdir -p c/src && cd c && printf '[package]\nname = "c"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml &&
printf 'fn main() { println!("hello"); }\n#[test]\nfn t() {}\n' > src/main.rs && cargo test --offline -q >/dev/null && cargo run --offline -q`,
			"hello\n", false},
		{"java", "javac", `printf 'public class P { public static void main(String[] a) { System.out.println("hello"); } }' > P.java &&
javac -d out P.java && java -cp out P`, "hello\n", false},
		{"maven", "mvn",
			`printf '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>p</artifactId><version>1</version></project>' > pom.xml &&
mvn -o -q -B -Dmaven.repo.local="$PWD/.m2" validate && echo valid`, "valid\n", false},
		{"tar", "tar", `tar cf t.tar dep && rm -rf dep && tar xpf t.tar && cp -a dep copy && touch -d 2001-01-01 ` +
			`copy/m.js && stat -c %y copy/m.js | cut -c1-10`, "2001-01-01\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			testneed.Program(t, test.program)
			eachLevel(t, func(t *testing.T, level sandbox.Level) {
				if level == sandbox.Landlock && test.loopback {
					return
				}
				p := sandbox.Policy{Level: level, Workspace: project(t)}
				if test.name == "git" { // no command makes a repository
					testgit.Run(t, p.Workspace, "init", "-q")
				}
				c := command(p, "/bin/sh", "-c", test.script)
				if cache := goCache(t); cache != "" {
					// The operator may grant the user's own cache, which makes this quick.
					p.ReadWrite = []string{cache}
					c = command(p, "/bin/sh", "-c", test.script)
					c.Env = append(c.Env, "GOCACHE="+cache)
				}
				r := run(t, c)
				assert.Zero(t, r.ExitCode, r.Stderr.String())
				assert.True(t, strings.HasSuffix(r.Stdout.String(), test.want), r.Stdout.String())
			})
		})
	}
}

func goCache(t *testing.T) string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return ""
	}
	cache, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	if err != nil {
		return ""
	}
	t.Log("GOCACHE", cache)
	return cache
}

// The caches of a workspace are its own unless others are granted.
func TestCachesAreTheWorkspacesOwn(t *testing.T) {
	testneed.Program(t, "go")
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		p := sandbox.Policy{Level: level, Workspace: t.TempDir()}
		r := sh(t, p, `go env GOCACHE; echo $XDG_CACHE_HOME; echo x > $GOCACHE/x && echo $npm_config_cache`)
		cache := filepath.Join(p.Workspace, ".agent", "cache", "sandbox")
		assert.Equal(t, cache+"/go-build\n"+cache+"/xdg\n"+cache+"/npm\n", r.Stdout.String(), r.Stderr.String())
	})
}
