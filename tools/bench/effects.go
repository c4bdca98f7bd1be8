package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// watched compares commands whose changes are kept for undo with the same
// commands without, both in the sandbox.
func (b *suite) watched() (lines []comparison, err error) {
	root, err := filepath.EvalSymlinks(b.work)
	if err != nil {
		return nil, err
	}
	root = filepath.Join(root, "watched")
	store, err := undo.Open(filepath.Join(filepath.Dir(b.work), "undo"), undo.Options{})
	if err != nil {
		return nil, err
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	few, many := "cat ../1k.txt ../1m.txt >/dev/null", "i=0; while [ $i -lt 10000 ]; do echo $i >f$i; i=$((i+1)); done"
	report := sandbox.Detect(context.Background())
	for _, level := range []struct {
		sandbox.Level
		sandbox.Verdict
	}{{sandbox.Full, report.Full}, {sandbox.Landlock, report.Landlock}} {
		if !level.Works {
			continue // confined says so
		}
		for _, c := range []struct {
			name, aim string
			argv      []string
			rounds    int
		}{
			{"changes nothing", "1.05", []string{"/bin/sh", "-c", few}, 200},
			{"10,000 small writes", "1.6", []string{"/bin/sh", "-c", many}, 7},
			{"go build", "1.15", []string{goTool, "build", "-o", "out", "./big"}, 5},
			{"npm ci", "1.3", []string{"npm", "ci", "--offline", "--no-audit", "--no-fund"}, 5},
		} {
			policy := sandbox.Settings{Level: level.Level}.Policy(b.work).Prepared()
			w := &watchedRun{root: root, store: store, argv: c.argv, policy: policy}
			if c.name == "npm ci" {
				w.packages = b.packages
			}
			lines = append(lines, comparison{name: fmt.Sprintf("%s, watched, %s", c.name, level.Level),
				baseName: "unwatched", aim: c.aim, rounds: c.rounds, before: w.prepare,
				ours: w.watched, base: func() error { return w.run(context.Background()) }})
		}
	}
	return lines, nil
}

type watchedRun struct {
	root   string
	store  *undo.Store
	argv   []string
	policy sandbox.Policy
	calls  int

	packages func() (map[string]string, error) // further files of the tree; may be nil
}

func (w *watchedRun) prepare() error {
	if err := errors.Join(os.RemoveAll(w.root), os.RemoveAll(w.cache())); err != nil {
		return err
	}
	const program = "package main\n\nimport \"net/http\"\n\nfunc main() { _ = http.ListenAndServe(\"\", nil) }\n"
	files := map[string]string{"go.mod": "module example.com/big\n\ngo 1.24\n", "big/main.go": program}
	if w.packages != nil {
		more, err := w.packages()
		if err != nil {
			return err
		}
		maps.Copy(files, more)
	}
	for name, text := range files {
		path := filepath.Join(w.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// cache returns the compiler's cache, empty so that all is built, and outside of the tree as usual.
func (w *watchedRun) cache() string { return w.root + "-cache" }

func (w *watchedRun) watched() error {
	w.calls++
	own := undo.Call{Session: "bench", ID: fmt.Sprintf("%d-%d", time.Now().UnixNano(), w.calls)}
	call := effects.New(w.store, own, effects.Trees{Root: w.root})
	if err := w.run(effects.With(context.Background(), call)); err != nil {
		return err
	}
	return call.End().Err
}

func (w *watchedRun) run(ctx context.Context) error {
	env := map[string]string{"GOCACHE": w.cache(), "GOFLAGS": "", "GOTOOLCHAIN": "local",
		"npm_config_cache": w.root + packageCache, "npm_config_update_notifier": "false"}
	r, err := proc.Run(ctx, proc.Command{Argv: w.argv, Dir: w.root, Env: proc.Environ(env), Prepare: w.policy.Confine})
	if err == nil && r.ExitCode != 0 {
		err = fmt.Errorf("%v: exit code %d: %s", w.argv, r.ExitCode, r.Stderr.String())
	}
	return err
}

// packageCache is the suffix of the directory with what npm ci installs, without the network.
const packageCache = "-packages"

// npmTree needs some 350 packages with 8,900 files in all.
const npmTree = `{"name": "tree", "version": "1.0.0", "private": true,
	"dependencies": {"@modelcontextprotocol/inspector": "2.12.0"}}`

// fetchPackages makes npm lock and fetch the packages of npmTree, and returns the files for npm ci.
func (b *suite) fetchPackages() (map[string]string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, notHere{err}
	}
	dir := filepath.Join(b.work, "watched-tree")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(npmTree), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--omit-lockfile-registry-resolved=false",
		"--cache", filepath.Join(b.work, "watched"+packageCache))
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, notHere{fmt.Errorf("npm install: %w\n%s", err, text)}
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	return map[string]string{"package.json": npmTree, "package-lock.json": string(lock)}, os.RemoveAll(dir)
}
