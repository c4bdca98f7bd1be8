package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

type build struct {
	version  string // such as v1.2.3
	dist     string
	short    bool
	source   string // the exported commit
	commit   string
	time     time.Time // the commit's, for every file
	progress io.Writer

	goVersion   string
	programs    map[platform][]file
	completions []file
	thirdParty  []byte // the license texts of linked modules
	temp        string
}

func (b *build) resolve(ctx context.Context, commitTime string) (err error) {
	if semver.Canonical(b.version) != b.version || b.version == "" {
		return fmt.Errorf("--version %q is not a version: write it as v1.2.3 or v1.2.3-rc.1", b.version)
	}
	if b.dist, err = filepath.Abs(b.dist); err != nil {
		return err
	}
	if entries, err := os.ReadDir(b.dist); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; remove it first, or name another directory with --dist", b.dist)
	}
	if b.source == "" {
		return b.fromGit(ctx, commitTime)
	}
	if b.commit == "" || commitTime == "" {
		return errors.New("--source needs --commit and --time, which the files do not say")
	}
	b.time, err = time.Parse(time.RFC3339, commitTime)
	b.time = b.time.UTC()
	return err
}

// fromGit uses the checked-out commit, without uncommitted changes.
func (b *build) fromGit(ctx context.Context, commitTime string) error {
	if b.commit != "" || commitTime != "" {
		return errors.New("--commit and --time are for --source; without it they are git's")
	}
	out, err := git(ctx, "log", "-1", "--format=%H %cI", "HEAD")
	if err != nil {
		return err
	}
	var stamp string
	if _, err := fmt.Sscan(string(out), &b.commit, &stamp); err != nil {
		return err
	}
	if b.time, err = time.Parse(time.RFC3339, stamp); err != nil {
		return err
	}
	b.time = b.time.UTC()
	if dirty, err := git(ctx, "status", "--porcelain"); err != nil {
		return err
	} else if len(dirty) > 0 {
		fmt.Fprintf(b.progress, "What is not committed is not in the release:\n%s", dirty)
	}
	return nil
}

func export(ctx context.Context, commit, dir string) error {
	out, err := git(ctx, "archive", "--format=tar", commit)
	if err != nil {
		return err
	}
	var files []file
	archive := tar.NewReader(bytes.NewReader(out))
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return writeFiles(dir, files)
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		files = append(files, file{path: header.Name, mode: header.FileInfo().Mode().Perm(), data: data})
	}
}

func git(ctx context.Context, args ...string) ([]byte, error) {
	top, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return nil, failed("git rev-parse", err)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = strings.TrimSpace(string(top))
	out, err := cmd.Output()
	if err != nil {
		return nil, failed("git "+args[0], err)
	}
	return out, nil
}

func failed(what string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%s: %w: %s", what, err, bytes.TrimSpace(exit.Stderr))
	}
	return fmt.Errorf("%s: %w", what, err)
}
