package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// treeFiles is how many files are searched.
const treeFiles = 10_000

// confined compares a confined `true` with a bare one, at both levels that
// need no container.
func (b *suite) confined() (lines []comparison, err error) {
	path, err := proc.LookPath("true", "")
	if err != nil {
		return nil, err
	}
	bare := func() error { return exec.Command(path).Run() }
	report := sandbox.Detect(context.Background())
	for _, level := range []struct {
		sandbox.Level
		sandbox.Verdict
		aim string
	}{{sandbox.Full, report.Full, "8"}, {sandbox.Landlock, report.Landlock, "4"}} {
		if !level.Works {
			fmt.Printf("sandbox %s does not work here: %s\n", level.Level, level.Reason)
			continue
		}
		policy := sandbox.Settings{Level: level.Level}.Policy(b.work).Prepared()
		lines = append(lines, comparison{
			name: "sandbox " + string(level.Level), baseName: "bare exec of true", aim: level.aim, rounds: 300,
			base: bare,
			ours: func() error {
				r, err := proc.Run(context.Background(),
					proc.Command{Argv: []string{path}, Dir: b.work, Env: proc.Environ(nil), Prepare: policy.Confine})
				if err == nil && r.ExitCode != 0 {
					err = fmt.Errorf("exit code %d: %s", r.ExitCode, r.Stderr.String())
				}
				return err
			},
		})
	}
	return lines, nil
}

// searches compares package search with rg, on a tree of many
// files of which every tenth has matches.
func (b *suite) searches() ([]comparison, error) {
	rg, err := proc.LookPath("rg", "")
	if err != nil {
		fmt.Println("rg is not installed; nothing to compare searches with")
		return nil, nil
	}
	root := filepath.Join(b.work, "tree")
	if err := makeTree(root); err != nil {
		return nil, err
	}
	ws, err := workspace.Open(root, workspace.Options{})
	if err != nil {
		return nil, err
	}
	grep := func(pattern string, matches int) measure {
		searcher := search.New(ws)
		return func() error {
			found, err := searcher.Grep(context.Background(), search.Query{Pattern: pattern})
			if err == nil && found.Total != matches {
				err = fmt.Errorf("%d matches", found.Total)
			}
			return err
		}
	}
	base := func(pattern string) measure {
		return func() error {
			cmd := exec.Command(rg, "--no-config", "--line-number", "--no-heading", pattern, "./")
			cmd.Dir = root
			_, err := cmd.Output()
			return err
		}
	}
	const few, many = "needle [0-9]+", "thorn [0-9]+"
	return []comparison{
		{name: "grep, 10,000 files", baseName: "rg", aim: "1.5", base: base(few),
			ours: grep(few, treeFiles/10)},
		{name: "grep, 20,000 matches", baseName: "rg", aim: "1.5", base: base(many),
			ours: grep(many, 2*treeFiles)},
	}, nil
}

func makeTree(root string) error {
	filler := strings.Repeat("some line of an ordinary source file, of ordinary length\n", 40)
	for i := range treeFiles {
		dir := filepath.Join(root, fmt.Sprintf("d%02d", i%100))
		if i < 100 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		text := filler
		if i%10 == 0 {
			text += fmt.Sprintf("a needle %d in it\n", i) + strings.Repeat(fmt.Sprintf("a thorn %d\n", i), 20)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%04d.txt", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
