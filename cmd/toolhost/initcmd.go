package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/agentfile"
)

func (a *app) initCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Write an agent.hcl for this project",
		Long: "Write an agent.hcl for this project: a short one, with what runs its commands and tests, as far as " +
			"that can be told from its files (a Taskfile, Makefile, justfile, mise.toml, go.mod, " +
			"package.json, pyproject.toml, Cargo.toml). The standard tools are there without it.",
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

const elsewhere = "Make room and the directory writable, or name another with --workspace."

func (a *app) initialize(force bool) error {
	path := a.flags.config
	if path == "" {
		path = filepath.Join(cmp.Or(a.flags.workspace, "."), config.FileName)
	}
	dir := filepath.Dir(path)
	if _, err := os.Lstat(path); err == nil && !force {
		return usagef("Use --force to replace it.", "%s exists", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(path, err).Suggest(elsewhere)
	}
	above, _ := config.Find(dir)
	found := config.Detect(os.DirFS(dir))
	text := config.Template(found)
	if err := writeUserFile(path, text); err != nil {
		return notWritten(path, err, elsewhere)
	}
	a.approveOwn(path, text)
	a.tellOfInit(path, above, found.Names)
	return nil
}

// tellOfInit says what there is now and what one may do with it.
func (a *app) tellOfInit(path, above string, found []string) {
	also := ""
	if len(found) > 0 {
		also = ", with " + strings.Join(found, ", ") + " for what is in this project"
	}
	fmt.Fprintf(a.out, "Wrote %s%s. Next: toolhost list, then toolhost call head args=\"-n 5 agent.hcl\".\n", path,
		also)
	if absolute, err := filepath.Abs(path); err == nil && above != "" && above != absolute {
		fmt.Fprintf(a.err, "%s Below here it takes the place of %s.\n", a.painter.yellow("!"), above)
	}
}

// cannotWrite says why a file cannot be written, without the name of the
// temporary one beside it.
func cannotWrite(path string, err error) *tool.Error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", path, err)
}

// approveOwn approves a file that the user has just had written. Where that
// cannot be kept, the file asks like any other.
func (a *app) approveOwn(path string, text []byte) {
	vars, err := a.variables()
	if err != nil {
		return
	}
	cfg, _ := config.Parse(path, text, config.LoadOptions{Vars: vars})
	store, err := a.trustStore(cfg)
	if err == nil {
		err = agentfile.ApproveAgain(store, path, text, vars)
	}
	if err != nil {
		a.logger.Warn("the new file is not approved yet", "error", err)
	}
}
