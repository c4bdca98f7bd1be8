package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

const patchFiles = 100

// memoryFiles is a directory in memory, if there is one.
const memoryFiles = "/dev/shm"

// patches compares apply_patch with git apply: in memory, and on the disk of
// the temporary directory, where apply_patch waits for the disk and git apply
// does not unless a sync follows.
func (b *suite) patches() ([]comparison, error) {
	if _, err := exec.LookPath("git"); err != nil {
		fmt.Println("git is not installed; nothing to compare patches with")
		return nil, nil
	}
	disk, err := patchedIn(filepath.Join(b.work, "patches"))
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("apply_patch of %d files in ", patchFiles)
	// Pending writes of the other side must not count.
	before := command(b.work, "sync")
	lines := []comparison{
		{name: name + os.TempDir(), baseName: "git apply", aim: "1.0", rounds: 15, before: before, ours: disk.ours,
			base: disk.git},
		{name: name + os.TempDir(), baseName: "git apply; sync -f", aim: "-", rounds: 15, before: before,
			ours: disk.ours, base: disk.gitSync},
	}
	dir, err := os.MkdirTemp(memoryFiles, "toolhost-bench-")
	if err != nil {
		fmt.Println("patches are not measured in memory:", err)
		return lines, nil
	}
	b.atEnd = append(b.atEnd, func() error { return os.RemoveAll(dir) })
	memory, err := patchedIn(dir)
	return append(lines, comparison{name: name + memoryFiles, baseName: "git apply", aim: "1.0", rounds: 300,
		ours: memory.ours, base: memory.git}), err
}

// patched are the ways to patch files, each with its own files.
type patched struct{ ours, git, gitSync measure }

func patchedIn(dir string) (patched, error) {
	ours, err1 := patching(filepath.Join(dir, "ours"), patchTool)
	git, err2 := patching(filepath.Join(dir, "git"), gitApply)
	synced, err3 := patching(filepath.Join(dir, "synced"), gitApplySync)
	return patched{ours, git, synced}, errors.Join(err1, err2, err3)
}

// patching makes files in dir, and patches them there and back in turn with the
// function that open returns.
func patching(dir string, open func(dir string) (func(patch string) error, error)) (measure, error) {
	there, back, err := patchFilesIn(dir)
	if err != nil {
		return nil, err
	}
	apply, err := open(dir)
	return func() error {
		patch := there
		there, back = back, there
		return apply(patch)
	}, err
}

// patchFilesIn makes files, a patch that changes a line of each, and one that reverts it.
func patchFilesIn(dir string) (there, back string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	lines := strings.Repeat("an ordinary line\n", 50)
	hunk := func(name, old, fresh string) string {
		return fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ -1,4 +1,4 @@\n-%s\n+%s\n an ordinary line\n an ordinary line\n"+
			" an ordinary line\n", name, name, old, fresh)
	}
	for i := range patchFiles {
		name := fmt.Sprintf("f%03d.txt", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("first\n"+lines+"last\n"), 0o644); err != nil {
			return "", "", err
		}
		there += hunk(name, "first", "changed")
		back += hunk(name, "changed", "first")
	}
	return there, back, nil
}

func gitApply(dir string) (func(patch string) error, error) {
	return func(patch string) error {
		cmd := exec.Command("git", "apply", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
		return cmd.Run()
	}, nil
}

// gitApplySync is git apply with the contents synced to disk.
func gitApplySync(dir string) (func(patch string) error, error) {
	apply, err := gitApply(dir)
	sync := command(dir, "sync", "-f", ".")
	return func(patch string) error {
		if err := apply(patch); err != nil {
			return err
		}
		return sync()
	}, err
}

func patchTool(root string) (func(patch string) error, error) {
	ws, err := workspace.Open(root, workspace.Options{})
	if err != nil {
		return nil, err
	}
	for _, t := range agentbench.New(agentbench.Deps{Workspace: ws}) {
		if t.Definition().Name != "apply_patch" {
			continue
		}
		return func(patch string) error {
			r, err := t.Call(context.Background(), &tool.Call{
				Tool: "apply_patch", Step: 1, Params: tool.MustMarshal(map[string]string{"unified_diff": patch}),
			})
			if err == nil && r.Failed != nil {
				err = r.Failed
			}
			return err
		}, nil
	}
	return nil, fmt.Errorf("agentbench has no apply_patch")
}
