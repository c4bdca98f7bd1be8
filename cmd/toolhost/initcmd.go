package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/atomicfile"
	"github.com/toolhost/toolhost/host/command/standard"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/trust"
)

func (a *app) initCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Write an agent.hcl for this project",
		Long:  "Write an agent.hcl for this project: the standard tools, ready to be changed, and an example of everything else as comments.",
		Example: `  toolhost init
  toolhost init --workspace ../other
  toolhost init --force`,
		Args: cobra.NoArgs,
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
	text := config.Template(standard.Source())
	if err := atomicfile.Update(path, text); err != nil {
		return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", path, err).Suggest("Make room and the directory writable, or name another with --workspace.")
	}
	a.approveOwn(path, text)
	fmt.Fprintf(a.out, "Wrote %s. Next: toolhost list, then toolhost call head args=\"-n 5 agent.hcl\".\n", path)
	return nil
}

// approveOwn approves a file that the user has just had written. Where that
// cannot be kept, the file asks like any other.
func (a *app) approveOwn(path string, text []byte) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return
	}
	dir, err := trust.Dir()
	if err != nil || liesIn(dir, filepath.Dir(absolute)) {
		return
	}
	sum := sha256.Sum256(text)
	if err := trust.Open(dir).Approve(absolute, hex.EncodeToString(sum[:])); err != nil {
		a.logger.Warn("the new file is not approved yet", "error", err)
	}
}
