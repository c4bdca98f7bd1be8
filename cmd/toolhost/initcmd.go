package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/command/standard"
)

func (a *app) initCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Write an agent.hcl for this project",
		Long:  "Write an agent.hcl for this project: the standard tools, ready to be changed, and an example of everything else as comments.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.initialize(force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace an agent.hcl that exists")
	return c
}

func (a *app) initialize(force bool) error {
	dir := firstOf(a.flags.workspace, ".")
	path := filepath.Join(dir, "agent.hcl")
	if _, err := os.Lstat(path); err == nil && !force {
		return usagef("Use --force to replace it.", "%s exists", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := replaceFile(path, config.Template(standard.Source())); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Wrote %s. Next: toolhost list, then toolhost call head args=\"-n 5 agent.hcl\".\n", path)
	return nil
}

// replaceFile writes a file of the operator's own in one step, keeping its
// mode.
func replaceFile(path string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".toolhost-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
