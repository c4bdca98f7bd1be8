package ocode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/gitread"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
)

const (
	// gitTimeout limits one run of git, gitOutput its output in bytes.
	gitTimeout    = 60 * time.Second
	gitOutput     = 16 << 20
	statusShown   = 500
	maxSubmodules = 50
)

type gitStatusParams struct {
	Path    string `json:"path"`
	Verbose bool   `json:"verbose"`
}

func runGitStatus(ctx context.Context, deps Deps, _ *tool.Call, p gitStatusParams) (*outcome, error) {
	dir, err := bashParams{WorkingDir: p.Path}.dir(deps.Workspace)
	if err != nil {
		return nil, err
	}
	if p.Path == "" {
		p.Path = "."
	}
	git, err := deps.git(dir)
	if err != nil {
		return nil, p.noRepository(err, dir)
	}
	if inRepository(git.Top, dir) {
		return nil, p.noWorkTree()
	}
	s, err := readStatus(ctx, git, dir)
	if err != nil {
		return nil, err
	}
	if err := p.lookIntoSubmodules(ctx, deps, git, dir, s); err != nil {
		return nil, err
	}
	if p.Verbose {
		s.subject = strings.TrimSpace(firstPrinted(git.Run(ctx, "log", "-1", "--no-show-signature", "--format=%h %s")))
	}
	o := &outcome{metadata: s.facts(p.Verbose)}
	s.write(o, p.Verbose)
	return o, nil
}

// inRepository reports whether dir, inside the work tree at top, is not part of it: in its .git,
// or in a repository without a work tree.
func inRepository(top, dir string) bool {
	if rel, err := filepath.Rel(top, dir); err == nil && strings.HasPrefix(filepath.ToSlash(rel)+"/", ".git/") {
		return true
	}
	return isBare(dir)
}

func isBare(dir string) bool {
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, part)); err != nil {
			return false
		}
	}
	return true
}

func (p gitStatusParams) noWorkTree() error {
	return tool.Errorf(tool.Unsupported, "No work tree: %s is a repository itself, or a part of one, and has no status",
		p.Path).
		Suggest("Name a directory of a work tree in path; git worktree list shows those of the repository.").
		With("path", p.Path)
}

// firstPrinted returns what a git command printed, "" if it failed.
func firstPrinted(r *proc.Result, err error) string {
	if err != nil || r.ExitCode != 0 {
		return ""
	}
	line, _, _ := strings.Cut(r.Stdout.String(), "\n")
	return line
}

func (p gitStatusParams) noRepository(err error, dir string) error {
	if isBare(dir) {
		return p.noWorkTree()
	}
	if tool.CodeOf(err) == tool.NotFound {
		return tool.Errorf(tool.NotFound, "Not a git repository: %s", p.Path).
			Suggest("Name a directory of a repository in path, or make one with git init.")
	}
	return err
}

func (d Deps) git(dir string) (*gitread.Git, error) {
	program, err := proc.LookPath("git", d.Workspace.Root())
	if err != nil {
		return nil, err
	}
	top, err := gitread.Find(dir)
	if err != nil {
		return nil, err
	}
	return &gitread.Git{Top: top,
		Start: func(ctx context.Context, args []string, env map[string]string) (*proc.Result, error) {
			c := proc.Command{
				Argv: append([]string{program}, args...), Dir: dir, Env: proc.Environ(env), Timeout: gitTimeout,
				Cap: gitOutput,
			}
			if d.PrepareGit != nil {
				c.Prepare = d.PrepareGit(top)
			}
			return proc.Run(ctx, c)
		}}, nil
}

func readStatus(ctx context.Context, git *gitread.Git, dir string) (*status, error) {
	ended, err := git.Run(ctx, "status", "--porcelain=v2", "-z", "--branch", "--show-stash", "--untracked-files=all",
		"--ignore-submodules=dirty", "--find-renames", "--", ".")
	if err != nil {
		return nil, err
	}
	switch {
	case ended.TimedOut:
		return nil, tool.Errorf(tool.Timeout, "git status did not finish within %s", gitTimeout).
			Suggest("Name a smaller directory in path.")
	case ended.ExitCode != 0:
		return nil, tool.Errorf(tool.CommandFailed, "git status failed: %s", strings.TrimSpace(ended.Stderr.String())).
			Suggest("Fix the repository; git fsck tells more.")
	case ended.Stdout.Truncated():
		return nil, tool.Errorf(tool.TooLarge, "git status lists more than %d MB of changed files", gitOutput>>20).
			Suggest("Name a smaller directory in path, or ignore what is generated.")
	}
	s, err := parseStatus(ended.Stdout.String())
	if err != nil {
		return nil, err
	}
	s.relativeTo(git.Top, dir)
	s.state = stateOf(git.Top)
	return s, nil
}

// stateOf returns the operation in progress, such as a merge, found by the files that git
// keeps meanwhile.
func stateOf(top string) string {
	dir := filepath.Join(top, ".git")
	if data, err := plainfile.Read(dir, 64<<10); err == nil {
		dir = strings.TrimPrefix(strings.TrimSpace(string(data)), "gitdir: ")
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(top, dir)
		}
	}
	for _, sign := range [][2]string{
		{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply", "rebase"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(dir, sign[0])); err == nil {
			return sign[1]
		}
	}
	return ""
}

// lookIntoSubmodules checks each submodule by itself: git's own check would run programs that their
// configuration names.
func (p gitStatusParams) lookIntoSubmodules(ctx context.Context, deps Deps, git *gitread.Git, dir string,
	s *status) error {
	if _, err := os.Lstat(filepath.Join(git.Top, ".gitmodules")); err != nil {
		return nil
	}
	listed, err := git.Run(ctx, "ls-files", "-z", "--stage", "--", ".")
	if err != nil {
		return err
	}
	n := 0
	for entry := range strings.SplitSeq(listed.Stdout.String(), "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		if !ok || !strings.HasPrefix(about, "160000 ") {
			continue
		}
		if n++; n > maxSubmodules {
			return nil
		}
		p.lookInto(ctx, deps, filepath.Join(dir, filepath.FromSlash(name)), name, s)
	}
	return nil
}

func (p gitStatusParams) lookInto(ctx context.Context, deps Deps, dir, name string, s *status) {
	if _, err := deps.Workspace.Check(dir, workspace.Read); err != nil {
		return // outside the workspace
	}
	git, err := deps.git(dir)
	if err != nil || git.Top != dir {
		return // not checked out
	}
	inner, err := readStatus(ctx, git, dir)
	if err != nil || inner.clean() {
		return // one unreadable submodule does not hide the others
	}
	var what []string
	if len(inner.staged)+len(inner.unstaged)+len(inner.conflicts) > 0 {
		what = append(what, "modified content")
	}
	if len(inner.untracked) > 0 {
		what = append(what, "untracked content")
	}
	s.dirtySubmodule(name, strings.Join(what, ", "))
}

func (s *status) facts(verbose bool) facts {
	f := facts{
		"branch": s.branch, "detached": s.detached, "commit": s.commit, "state": s.state, "clean": s.clean(),
		"modified_files": pathsOf(s.unstaged), "staged_files": pathsOf(s.staged),
		"conflicted_files": pathsOf(s.conflicts),
		"untracked_files":  append([]string{}, s.untracked...), "submodules": append([]string{}, s.submodules...),
	}
	renamed := make(map[string]string)
	for _, c := range slices.Concat(s.staged, s.unstaged) {
		if c.from != "" {
			renamed[c.path] = c.from
		}
	}
	f["renamed_files"] = renamed
	if verbose {
		f["upstream"], f["ahead"], f["behind"], f["stashes"] = s.upstream, s.ahead, s.behind, s.stashes
	}
	return f
}

func pathsOf(changes []change) []string {
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.path
	}
	return paths
}

func (s *status) write(o *outcome, verbose bool) {
	lines := s.heading(verbose)
	left := statusShown
	for _, part := range []struct {
		title   string
		changes []change
	}{{"Changes staged:", s.staged}, {"Unmerged paths:", s.conflicts}, {"Changes not staged:",
		s.unstaged}, {"Untracked files:", unknown(s.untracked)}} {
		if len(part.changes) == 0 {
			continue
		}
		lines = append(lines, part.title)
		for i, c := range part.changes {
			if left == 0 {
				lines = append(lines, fmt.Sprintf("  ... and %d more", len(part.changes)-i))
				o.Truncated = true
				break
			}
			left--
			lines = append(lines, "  "+c.text(verbose))
		}
	}
	if s.clean() {
		lines = append(lines, "nothing to commit, working tree clean")
	}
	o.output = strings.Join(lines, "\n")
	if o.Truncated {
		o.warn(fmt.Sprintf("the text lists the first %d files; the metadata lists all", statusShown))
	}
}

func unknown(paths []string) []change {
	list := make([]change, len(paths))
	for i, p := range paths {
		list[i] = change{path: p}
	}
	return list
}

// heading returns the branch and the operation in progress.
func (s *status) heading(verbose bool) []string {
	lines := []string{"On branch " + s.branch}
	if s.detached {
		lines[0] = "HEAD detached at " + s.commit[:min(len(s.commit), 7)]
	}
	if s.commit == "" {
		lines = append(lines, "No commits yet")
	}
	if s.state != "" {
		lines = append(lines, fmt.Sprintf("A %s is in progress", s.state))
	}
	if !verbose {
		return lines
	}
	if s.subject != "" {
		lines = append(lines, "Last commit: "+s.subject)
	}
	if s.upstream != "" {
		lines = append(lines, fmt.Sprintf("Upstream: %s, %d ahead, %d behind", s.upstream, s.ahead, s.behind))
	}
	if s.stashes > 0 {
		lines = append(lines, fmt.Sprintf("Stashes: %d", s.stashes))
	}
	return lines
}
