package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/store/review"
	"github.com/toolhost/toolhost/internal/store/undo"
)

const (
	viewedFiles    = 100_000
	committedFiles = 1000
)

// views compares a confined command in a view of a large tree with the same command
// in the tree, and applying a view's changes with cp.
func (b *suite) views() ([]comparison, error) {
	if !sandbox.Detect(context.Background()).Full.Works {
		return nil, nil // confined says so
	}
	work, err := filepath.EvalSymlinks(filepath.Dir(b.work))
	if err != nil {
		return nil, err
	}
	large := &viewedTree{root: filepath.Join(work, "viewed"), views: filepath.Join(work, "views", "large"),
		files: viewedFiles}
	small := &viewedTree{root: filepath.Join(work, "committed"), views: filepath.Join(work, "views", "small"),
		files: committedFiles}
	if small.store, err = undo.Open(filepath.Join(work, "committed-undo"), undo.Options{}); err != nil {
		return nil, err
	}
	return []comparison{
		{name: "true in a view of 100,000 files (at most 10 ms more)", baseName: "confined", aim: "+10ms", rounds: 60,
			before: large.plant, ours: large.inView,
			base: func() error { return large.run(context.Background(), "true") }},
		{name: "commit of 1,000 files from a view", baseName: "cp", aim: "2", rounds: 7, before: small.change,
			ours: small.commit, base: small.copy},
		{name: "commit of 1,000 files from a view", baseName: "cp, new files", aim: "-", rounds: 7,
			before: small.change, ours: small.commit, base: small.replace},
	}, nil
}

type viewedTree struct {
	root, views string
	files       int
	store       *undo.Store
	view        *view.View
	changes     *review.Changes
	calls       int
}

// plant creates files in directories of a hundred, once.
func (v *viewedTree) plant() error {
	if _, err := os.Stat(v.root); err == nil {
		return nil
	}
	for i := range v.files {
		dir := filepath.Join(v.root, fmt.Sprint(i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i%100)), []byte("old\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (v *viewedTree) run(ctx context.Context, script string) error {
	policy := sandbox.Settings{Level: sandbox.Full}.Policy(v.root).Prepared()
	r, err := proc.Run(ctx, proc.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: v.root, Env: proc.Environ(nil),
		Prepare: policy.Confine})
	if err == nil && r.ExitCode != 0 {
		err = fmt.Errorf("%s: exit code %d: %s", script, r.ExitCode, r.Stderr.String())
	}
	return err
}

// try runs a script in a new view, and reads its changes there.
func (v *viewedTree) try(script string) (err error) {
	if v.view != nil {
		if err := v.view.Remove(); err != nil {
			return err
		}
	}
	v.calls++
	if v.view, err = view.New(filepath.Join(v.views, fmt.Sprint(v.calls))); err != nil {
		return err
	}
	if err = v.run(view.With(context.Background(), v.view), script); err == nil {
		v.changes, err = review.Read(context.Background(), v.view, v.root)
	}
	return err
}

func (v *viewedTree) inView() error { return v.try("true") }

// change changes every file in a view, each time differently, and waits for pending
// writes to the disk.
func (v *viewedTree) change() error {
	if err := v.plant(); err != nil {
		return err
	}
	if err := v.try(fmt.Sprintf("for f in */*; do echo new %d >$f; done", v.calls)); err != nil {
		return err
	}
	return command(v.root, "sync")()
}

func (v *viewedTree) commit() error {
	ws, err := workspace.Open(v.root, workspace.Options{Recorder: v.store.Recorder("", "", 0),
		Symlinks: workspace.Block, Protect: []string{}})
	if err != nil {
		return err
	}
	defer ws.Close()
	own := undo.Call{Session: "bench", ID: fmt.Sprint(v.calls)}
	_, _, err = v.changes.Commit(undo.WithCall(context.Background(), own), ws.Restoring())
	if err == nil && len(v.changes.List) != committedFiles {
		err = fmt.Errorf("%d files have changed", len(v.changes.List))
	}
	return err
}

// copy writes into existing files; replace makes new ones, as undo requires, which is
// slow on some file systems.
func (v *viewedTree) copy() error { return v.cp("-r") }

func (v *viewedTree) replace() error { return v.cp("-r", "--remove-destination") }

func (v *viewedTree) cp(options ...string) error {
	out, err := exec.Command("cp", append(options, v.view.Layers()[0].Upper+"/.", v.root)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("cp: %w: %s", err, out)
	}
	return err
}
