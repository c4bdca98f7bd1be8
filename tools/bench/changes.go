package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// churns compares commands that change a tree of 10,000 files of 2 KB, watched and in the sandbox,
// with the same without either.
func (b *suite) churns() (lines []comparison, err error) {
	churn := filepath.Join(b.work, "churn")
	if err := build("tools", churn, "./bench/churn"); err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(b.work)
	if err != nil {
		return nil, err
	}
	root = filepath.Join(root, "churned")
	history := filepath.Join(b.dir, "undo-churned")
	store, err := undo.Open(history, undo.Options{})
	if err != nil {
		return nil, err
	}
	prepare := func() error { // a full history would be read and pruned in some of the rounds
		if err := errors.Join(os.RemoveAll(root), os.RemoveAll(history)); err != nil {
			return err
		}
		return makeTree(filepath.Join(root, "files"))
	}
	for _, c := range []struct {
		name, aim string
		argv      []string
	}{
		{"rm -rf", "2", []string{"rm", "-rf", "files"}},
		{"overwrite", "1.5", []string{churn, "overwrite", "files"}},
		{"rename", "2", []string{churn, "rename", "files"}},
		{"chmod -R", "2", []string{"chmod", "-R", "u+x", "files"}},
		{"new files", "1.1", []string{churn, "copy", "files"}},
	} {
		for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
			if !sandbox.On(level).Works {
				continue // confined says so
			}
			ours := &watchedRun{root: root, store: store, argv: c.argv,
				policy: sandbox.Settings{Level: level}.Policy(b.work).Prepared()}
			base := &watchedRun{root: root, argv: c.argv, policy: sandbox.Settings{Level: sandbox.Off}.Policy(b.work).Prepared()}
			lines = append(lines, comparison{name: fmt.Sprintf("%s, 10,000 files, %s", c.name, level), baseName: "sandbox off",
				aim: c.aim, rounds: 10, before: prepare, ours: ours.watched,
				base: func() error { return base.run(context.Background()) }})
		}
	}
	return lines, nil
}

// singles compares calls over MCP with the same work alone.
func (b *suite) singles() ([]comparison, error) {
	ours, err := b.serve(b.work, b.toolhost, "serve")
	if err != nil {
		return nil, err
	}
	edited, plain := filepath.Join(b.work, "edited.txt"), filepath.Join(b.work, "plain.txt")
	text := []byte("begin\n" + strings.Repeat("a line of forty characters, or nearly so\n", 2500))
	for _, file := range []string{edited, plain} {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return nil, err
		}
	}
	thereOurs := inTurn(ours.call("edit_file", `{"path":"edited.txt","old_str":"begin\n","new_str":"BEGIN\n"}`),
		ours.call("edit_file", `{"path":"edited.txt","old_str":"BEGIN\n","new_str":"begin\n"}`))
	therePlain := inTurn(func() error { return replace(plain, "begin\n", "BEGIN\n") },
		func() error { return replace(plain, "BEGIN\n", "begin\n") })
	lines := []comparison{{name: "edit of 100 KB over MCP", baseName: "read, replace, fsync", aim: "1.3", rounds: 100,
		ours: thereOurs, base: therePlain}}
	task := filepath.Join(b.dir, "task")
	if err := build(".", task, "github.com/go-task/task/v3/cmd/task"); err != nil {
		return nil, err
	}
	tasks, err := b.serve(b.tasks, b.toolhost, "serve")
	if err != nil {
		return nil, err
	}
	lines = append(lines, comparison{name: "run_command over MCP", baseName: "task", aim: "0.7", rounds: 20,
		ours: tasks.call("run_command", `{"command":"task00"}`),
		base: command(b.tasks, task, "--taskfile", ".agent/Taskfile.yml", "task00")})
	few := filepath.Join(b.work, "few")
	for _, c := range []struct {
		program, name, tool, arguments, aim string
		argv                                []string
	}{
		{"rg", "rg over MCP, 1,000 matches", "rg", `{"pattern":"needle [0-9]+","args":"few"}`, "1.2",
			[]string{"--no-config", "--line-number", "--no-heading", "needle [0-9]+", "./"}},
		{"fd", "glob over MCP, 10,000 files", "glob", `{"pattern":"few/**/*.txt"}`, "0.7",
			[]string{"--glob", "*.txt"}},
	} {
		path, err := proc.LookPath(c.program, "")
		if err != nil {
			fmt.Println(c.program, "is not installed; nothing to compare", c.tool, "with")
			continue
		}
		lines = append(lines, comparison{name: c.name, baseName: c.program, aim: c.aim, rounds: 30,
			ours: ours.call(c.tool, c.arguments), base: command(few, path, c.argv...)})
	}
	return lines, nil
}

// inTurn alternates between two measures by round.
func inTurn(there, back measure) measure {
	turned := false
	return func() error {
		turned = !turned
		if turned {
			return there()
		}
		return back()
	}
}

// replace is the minimal cost of an edit: the new content is on disk before it has the name.
func replace(file, from, to string) error {
	old, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return err
	}
	temporary, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	defer temporary.Close()
	if _, err := temporary.Write(bytes.Replace(old, []byte(from), []byte(to), 1)); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}

// starts measures the gate's bars by wall-clock time.
func (b *suite) starts() (lines []comparison, err error) {
	for _, bar := range b.bars() {
		name, base, _ := strings.Cut(bar.name, " / ")
		lines = append(lines, comparison{name: name, baseName: base, aim: bar.goal, rounds: bar.rounds,
			ours: bar.ours.measure(), base: bar.base.measure()})
	}
	return lines, nil
}
