package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// rebuild makes a release again, with its own commit's release program, and compares all bytes.
// The signature is only checked: an equal SHA256SUMS is the signed one.
func rebuild(ctx context.Context, dir, key string, progress io.Writer) error {
	published, err := open(dir, key)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "toolhost-rebuild-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	source, dist := filepath.Join(temp, "source"), filepath.Join(temp, "dist")
	commit := published.made.commit()
	if err := export(ctx, commit, source); err != nil {
		return fmt.Errorf("the commit %s is not here; fetch it first: %w", commit, err)
	}
	definition := published.made.Predicate.BuildDefinition
	if err := sameGo(ctx, source, definition.InternalParameters.Go); err != nil {
		return err
	}
	args := []string{"run", ".", "build", "--unsigned", "--version", definition.ExternalParameters.Version, "--dist", dist,
		"--source", source, "--commit", commit, "--time", definition.InternalParameters.CommitTime}
	if slices.Equal(definition.ExternalParameters.Platforms, []string{linuxAMD64.String()}) {
		args = append(args, "--short")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(source, "internal", "release"), progress, progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building commit %s again: %w", commit, err)
	}
	if err := published.compare(dist); err != nil {
		return err
	}
	fmt.Fprintf(progress, "All %d files of %s are equal, byte by byte, to what commit %s gives here.\n",
		len(published.contents), dir, commit)
	return nil
}

// sameGo refuses to compare the results of different compilers.
func sameGo(ctx context.Context, source, want string) error {
	b := build{source: source}
	have, err := b.toolchain(ctx)
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("the release was built with %s, and this is %s: run it with GOTOOLCHAIN=%s", want, have, want)
	}
	return nil
}

// compare returns all files that differ from those of dist.
func (r *release) compare(dist string) error {
	var differ []string
	for name, data := range r.contents {
		again, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil || !bytes.Equal(again, data) {
			differ = append(differ, name)
		}
	}
	if len(differ) > 0 {
		slices.Sort(differ)
		return fmt.Errorf("these are not what their commit gives: %s", strings.Join(differ, ", "))
	}
	again, err := os.ReadFile(filepath.Join(dist, sumsFile))
	if err != nil {
		return err
	}
	if !bytes.Equal(again, r.sums) {
		return errors.New("the commit gives files that are not in the release")
	}
	return nil
}
