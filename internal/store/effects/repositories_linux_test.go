package effects_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// repository is a kind of generated repository.
type repository struct {
	name string
	// needs are the programs of its commands.
	needs []string
	// make is the script that makes it. It can use commit, which commits everything.
	make string
	// commands are typical commands in it. # stands for a number.
	commands []string
	// slow are those that run only if a number of sequences is requested.
	slow []string
}

const (
	identity = "git -c user.name=n -c user.email=e@example.com "
	commit   = "git add -A && " + identity + "commit -qm m"
)

var repositories = []repository{
	{
		name: "go", needs: []string{"go", "gofmt", "git"},
		make: `mkdir -p internal/x cmd/two
printf 'module example.com/m\n\ngo 1.21\n' >go.mod
printf 'package main\n\nimport "example.com/m/internal/x"\n\n//go:generate sh gen.sh\nfunc main() { println(x.N) }\n' >main.go
printf 'package main\n\nfunc main() { println(2) }\n' >cmd/two/main.go
printf 'package x\n\nconst N = 1\n' >internal/x/x.go
printf 'mkdir -p gen; for n in 1 2 3; do printf "package gen\\n\\nconst N%%d = %%d\\n" $n $n >gen/n$n.go; done\n' >gen.sh
git init -q; ` + commit,
		commands: []string{
			"gofmt -w .", `printf 'package x\n\nconst   N = #\n' >internal/x/x.go`, "go mod edit -go=1.2#",
			"go generate ./...", "go mod edit -module=example.com/m#", "gofmt -w -r 'N -> M' internal", "go clean",
			"rm -rf gen bin", commit, "git checkout -q .", "git stash -q", "git stash pop -q", "git clean -fdxq",
			"cp -r internal/x internal/y#", "mv internal/x internal/z && mv internal/z internal/x",
			"sed -i s/println/print/ main.go cmd/two/main.go",
		},
		slow: []string{"go build -o bin/ ./...", "go build .", "go build -o bin/ ./... & go vet ./... & wait"},
	},
	{
		name: "npm", needs: []string{"npm", "node", "git"},
		make: `mkdir -p libs/a libs/b src
printf '{"name":"a","version":"1.0.0"}\n' >libs/a/package.json; echo 'exports.a = 1' >libs/a/index.js
printf '{"name":"b","version":"1.0.0","bin":{"b":"b.js"}}\n' >libs/b/package.json; echo '#!/usr/bin/env node' >libs/b/b.js
printf '{"name":"m","version":"1.0.0","private":true,"scripts":{"build":"node build.js"}}\n' >package.json
echo 'const fs = require("fs"); fs.mkdirSync("dist", {recursive: true}); for (const f of fs.readdirSync("src"))
fs.copyFileSync("src/" + f, "dist/" + f); fs.writeFileSync("dist/.tmp", "x"); fs.renameSync("dist/.tmp", "dist/all.js")' >build.js
for n in 1 2 3; do echo "exports.n = $n" >src/$n.js; done; echo node_modules >.gitignore
git init -q; ` + commit,
		commands: []string{
			"node build.js", "echo 'exports.n = #' >src/#.js", "rm -rf dist", commit, "git checkout -q .",
			"git clean -fdxq",
			`node -e 'const fs = require("fs"); fs.rmSync("src", {recursive: true}); fs.mkdirSync("src"); fs.writeFileSync("src/1.js", "#")'`,
			`node -e 'const fs = require("fs"); fs.cpSync("src", "lib#", {recursive: true}); fs.truncateSync("src/1.js", 3)'`,
		},
		slow: []string{
			"npm install --offline --no-audit --no-fund ./libs/a",
			"npm install --offline --no-audit --no-fund ./libs/b",
			"npm uninstall --offline --no-audit --no-fund a", "npm ci --offline --no-audit --no-fund", "npm run build",
			"npm pkg set version=2.#.0", "npm version patch --no-git-tag-version", "npm pack ./libs/a",
		},
	},
	{
		name: "make", needs: []string{"make", "git", "tar", "install"},
		make: `mkdir src; for n in 1 2 3 4 5 6; do echo "$n" >src/$n.c; done
printf 'objects = $(patsubst src/%%.c,out/%%.o,$(wildcard src/*.c))\nall: out/all\n' >Makefile
printf 'out/all: $(objects)\n\tcat $^ >$@.tmp && mv $@.tmp $@ && chmod 755 $@\n' >>Makefile
printf 'out/%%.o: src/%%.c\n\t@mkdir -p out\n\tsed s/1/one/ $< >$@\n' >>Makefile
printf 'clean:\n\trm -rf out dist\n' >>Makefile
printf 'install: all\n\tinstall -D -m 755 out/all root/bin/all && ln -sf all root/bin/latest\n' >>Makefile
printf 'dist: all\n\tmkdir -p dist && tar cf dist/all.tar out src && tar xf dist/all.tar -C dist\n' >>Makefile
git init -q; ` + commit,
		commands: []string{
			"make", "make -j4", "make clean", "make install", "make dist", "make -j4 install dist", "make -B -j2",
			"touch src/1.c",
			"echo # >>src/#.c", "rm src/2.c", "mv src/3.c src/x#.c", "make & make dist & wait", commit,
			"git checkout -q .",
			"git stash -qu", "git stash pop -q", "git clean -fdxq", "cp -a src src2 && mv src2/* src/",
			"chmod 600 src/*.c",
		},
	},
	{
		name: "python", needs: []string{"python3"},
		make: `mkdir -p pkg/sub data; echo 'from . import sub' >pkg/__init__.py; echo 'N = 1' >pkg/sub/__init__.py
for n in 1 2 3; do seq $n 40 >data/$n.txt; done
cat >change.py <<'EOF'
import json, mmap, os, random, shutil, sqlite3, sys, tempfile, threading, zipfile
import pkg.sub
r = random.Random(int(sys.argv[1]))
def some():
    found = [os.path.join(d, f) for d, ds, fs in os.walk("data") for f in fs + ds]
    return r.choice(sorted(found)) if found else "data"
def new(): return "data/" + "/".join(r.choice("abc") for _ in range(r.randint(1, 3)))
def write():
    p = new(); os.makedirs(os.path.dirname(p), exist_ok=True)
    with open(p, "w") as f: f.write(str(r.random()) * r.choice([1, 10, 5000]))
def replace():
    with tempfile.NamedTemporaryFile("w", dir="data", delete=False) as f: f.write("t")
    os.replace(f.name, some())
def copies(): shutil.copytree("data", "copy%d" % r.randint(0, 2), symlinks=True, dirs_exist_ok=True)
def gone(): shutil.rmtree(r.choice(["copy0", "copy1", some()]))
def moved(): shutil.move(some(), new())
def mapped():
    with open(some(), "r+b") as f, mmap.mmap(f.fileno(), 0) as m: m[0:1] = b"m"
def cut(): os.truncate(some(), r.randint(0, 20))
def base():
    with sqlite3.connect("data/base.db") as c:
        c.execute("create table if not exists t (n)"); c.execute("insert into t values (?)", (r.random(),))
def packed():
    with zipfile.ZipFile("data/all.zip", "w") as z: z.write("change.py")
    with zipfile.ZipFile("data/all.zip") as z: z.extractall("data/zip")
def linked(): os.symlink(some(), new())
def hard(): os.link(some(), new())
def mode(): os.chmod(some(), r.choice([0o600, 0o640, 0o755, 0o700]))
def state():
    with open("data/state.json", "a+") as f: f.seek(0); n = len(f.read()); f.truncate(0); json.dump({"n": n}, f)
def shift():
    a, b = some(), new(); os.rename(a, a + ".x"); os.rename(a + ".x", b)
def fd():
    d = os.open("data", os.O_RDONLY); f = os.open("at", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=d)
    os.pwrite(f, b"at", 3); os.ftruncate(f, 9); os.rename("at", "at2", src_dir_fd=d, dst_dir_fd=d)
ways = [write, replace, copies, gone, moved, mapped, cut, base, packed, linked, hard, mode, state, shift, fd]
def go():
    for _ in range(r.randint(1, 6)):
        try: r.choice(ways)()
        except (OSError, shutil.Error, sqlite3.Error, ValueError): pass
threads = [threading.Thread(target=go) for _ in range(r.choice([1, 1, 3]))]
for t in threads: t.start()
for t in threads: t.join()
EOF
`,
		commands: []string{
			"python3 change.py #", "python3 change.py #", "python3 change.py #",
			"python3 change.py # & python3 change.py # & wait",
			"python3 -m compileall -q pkg", "rm -rf copy0 copy1", "echo 'N = #' >pkg/sub/__init__.py",
			"mv data data2; cp -a data2 data",
			"python3 -m zipfile -c all.zip data",
		},
	},
	{
		name: "git", needs: []string{"git"},
		make: `git init -q -b main; mkdir -p a/b c; for n in 1 2 3 4; do seq $n 30 >a/$n; echo $n >a/b/$n; done; echo x >c/x; ` + commit + `
for b in one two three; do git checkout -q -b $b main; echo $b >a/1; sed -i s/20/$b/ a/2; git mv a/3 $b; mkdir -p d$b
echo $b >d$b/f; ` + commit + `; done
git checkout -q -b deep two; git rm -qr a; ln -s c a; ` + commit + `; git checkout -q main; git tag first`,
		commands: []string{
			"git checkout -q one", "git checkout -q two", "git checkout -q deep", "git checkout -qf main",
			"git checkout -q --detach first",
			identity + "merge -q one", identity + "merge -q two",
			identity + "merge -q --no-edit three || git merge --abort",
			identity + "rebase -q one", identity + "rebase --abort",
			identity + "cherry-pick two || git cherry-pick --abort",
			"echo # >>a/1", "echo # >new#", commit, commit, "git reset -q --hard first", "git reset -q --soft one",
			"git stash -qu",
			"git stash pop -q", "git clean -fdxq", "git mv a e#", "git rm -qrf c", "git tag t#", "git branch -D one",
			"git branch b#",
			"git checkout -q -B one main", "git pack-refs --all", "git gc -q --prune=now", "git repack -adq",
			"git worktree add -q wt# main",
			"git worktree prune", "rm -rf wt#", "git config user.name #", "git diff main one | git apply --index",
			"git rm -rqf --cached a",
			"git init -q in#; cd in#; echo # >f; " + commit, "git clone -q . cl#", "cd cl#; git pull -q",
			"rm -rf cl# in#",
			"git update-ref refs/heads/odd# main", "git symbolic-ref HEAD refs/heads/two", "git commit-graph write",
			"git notes add -m n#",
		},
	},
}

// missing returns a required program that is missing, or "".
func (r repository) missing() string {
	for _, program := range r.needs {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	return ""
}

// command is one of the repository's, or now and then one over a few paths.
func (r repository) command(all bool) func(generator) string {
	commands := r.commands
	if all {
		commands = append(commands[:len(commands):len(commands)], r.slow...)
	}
	return func(g generator) string {
		if g.IntN(6) == 0 {
			return g.command()
		}
		text := g.pick(commands...)
		for strings.Contains(text, "#") {
			text = strings.Replace(text, "#", strconv.Itoa(g.IntN(5)), 1)
		}
		return text
	}
}

func newRepository(t *testing.T, r repository, level sandbox.Level, cache string) *arena {
	t.Helper()
	a := newArena(t, level)
	a.cache = cache
	a.env = []string{"GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1"}
	if r.name == "python" {
		if real, err := exec.Command("python3", "-c",
			"import os, sys; print(os.path.dirname(sys.executable))").Output(); err == nil {
			a.env = append(a.env, fmt.Sprintf("PATH=%s:/usr/bin:/bin", strings.TrimSpace(string(real))))
		}
	}
	a.outside("export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1\n" + r.make)
	if r.name == "git" {
		a.check = "git rev-list --objects --all --reflog --indexed-objects >/dev/null"
	}
	a.sh("true") // the sandbox makes what it has to cover in .git
	return a
}

// TestSequencesInRepositories is TestSequences with typical commands in repositories of five kinds.
func TestSequencesInRepositories(t *testing.T) {
	run := newSequences(t)
	cache, err := filepath.EvalSymlinks(testneed.VisibleDir(t))
	require.NoError(t, err)
	for _, r := range repositories {
		for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
			t.Run(r.name+"/"+string(level), func(t *testing.T) {
				if missing := r.missing(); missing != "" {
					testneed.Missing(t, missing)
				}
				tree := func() *arena { return newRepository(t, r, level, cache) }
				run.all(run.count/2/len(repositories), patience/5, tree, r.command(run.asked))
			})
		}
	}
	run.report(t)
}
