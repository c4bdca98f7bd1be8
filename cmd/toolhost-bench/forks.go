package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// forks compares making a fork of a large tree with listing its forks, and a call in
// a fork with the same call in the workspace.
func (b *suite) forks() ([]comparison, error) {
	if !sandbox.Detect(context.Background()).Full.Works {
		return nil, nil // confined says so
	}
	work, err := filepath.EvalSymlinks(filepath.Dir(b.work))
	if err != nil {
		return nil, err
	}
	f := &forkedTree{toolhost: b.toolhost, state: filepath.Join(work, "forked-state"),
		viewedTree: viewedTree{root: filepath.Join(work, "viewed"), files: viewedFiles}}
	read := []string{"call", "head", "args=-n 1 0/0"}
	return []comparison{
		{name: "toolhost fork of 100,000 files (at most 50 ms)", baseName: "toolhost fork list", aim: "+50ms", rounds: 40,
			before: f.without, ours: f.run("fork", "one"), base: f.run("fork", "list")},
		{name: "call in a fork of 100,000 files (at most 50 ms more)", baseName: "in the workspace", aim: "+50ms", rounds: 40,
			before: f.with, ours: f.run(append(read, "--fork", "one")...), base: f.run(read...)},
	}, nil
}

// forkedTree is a tree of which forks are made.
type forkedTree struct {
	viewedTree
	toolhost, state string
	made            bool
}

func (f *forkedTree) run(args ...string) measure {
	return func() error {
		cmd := exec.Command(f.toolhost, args...)
		cmd.Dir, cmd.Env = f.root, append(environment(), "XDG_STATE_HOME="+f.state)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("toolhost %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
}

// without has the tree have no fork.
func (f *forkedTree) without() error {
	if err := f.plant(); err != nil {
		return err
	}
	forks, err := filepath.Glob(filepath.Join(f.state, "toolhost", "*", "forks", "one"))
	if err != nil || len(forks) == 0 {
		return err
	}
	return f.run("fork", "drop", "one")()
}

// with has the tree have a fork, and the disk have all that others have written: the
// end of a fork's session waits for that.
func (f *forkedTree) with() error {
	if f.made {
		return command(f.root, "sync")()
	}
	err := f.without()
	if err == nil {
		err = os.MkdirAll(f.state, 0o700)
	}
	if err == nil {
		err = f.run("fork", "one")()
	}
	f.made = err == nil
	return err
}
