package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/project/trust"
	"github.com/toolhost/toolhost/internal/store/digest"
)

func (a *app) trustCommand() *cobra.Command {
	var flags trustFlags
	c := &cobra.Command{
		Use:   "trust [DIGEST]",
		Short: "Approve this project's agent.hcl as it is now",
		Long: `Show the agent.hcl of this project, and approve it as it is, if you agree. It shows
the programs, addresses and paths that the file grants, and its text, or the change
since the last approval. If input or output is not a terminal, nothing is
approved without --yes or the digest that was shown.

A file that was never approved has no effect, and only the read-only standard tools
are offered. After a change the text that was approved stays in force until you
approve the new one. An approval also covers the targets of symlinks in the paths
that the file names: a symlink that changes needs a new approval. A running server
uses an approval at once. A file named with --config counts as approved, and
--trust or TOOLHOST_TRUST=1 approves for one run.`,
		Example: `  toolhost trust --show
  toolhost trust
  toolhost trust --revoke`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				flags.digest = args[0]
			}
			return a.trust(c.Context(), flags)
		},
	}
	c.AddCommand(a.trustToolsCommand())
	c.Flags().BoolVar(&flags.revoke, "revoke", false, "revoke the approval")
	c.Flags().BoolVar(&flags.show, "show", false,
		"only show what agent.hcl grants, with its text or the change since the last approval")
	c.Flags().BoolVar(&flags.yes, "yes", false, "approve without being asked")
	c.Flags().BoolVar(&flags.json, "json", false, "with --show: print JSON")
	return c
}

type trustFlags struct {
	revoke, show, yes, json bool
	// digest approves only what was shown with it.
	digest string
}

func (a *app) trust(ctx context.Context, flags trustFlags) error {
	path, err := a.configPath()
	if err != nil {
		return err
	}
	if flags.revoke {
		return a.revoke(path)
	}
	if path == "" {
		return usagef("There is nothing to approve: the standard tools need no approval.",
			"there is no agent.hcl here or above")
	}
	cfg, err := a.readConfigFile(path)
	if err != nil {
		return err
	}
	content, err := plainfile.Read(path, 1<<30)
	if err != nil {
		return usagef("Make it readable.", "%v", err)
	}
	store, err := a.trustStore(cfg)
	if err != nil {
		return err
	}
	if flags.json || flags.digest != "" {
		return a.trustShown(flags, store, cfg, path, content)
	}
	shown := show.Line(agentfile.Key(path)) + ":\n" + a.linesText(cfg.Grants()) + a.linesText(cfg.DirectoryGrants()) +
		a.changeText(store, agentfile.Key(path), content)
	if err := a.page(ctx, a.out, shown); err != nil || flags.show {
		return err
	}
	if flags.yes {
		return a.approveFile(store, path, content)
	}
	before, known := store.Get(agentfile.Key(path))
	if known && bytes.Equal(before.Content, content) && len(digest.Files(before.Files).Changed()) == 0 {
		return nil // shown above
	}
	if !isTerminal(a.in) || !isTerminal(a.out) {
		return usagef("Run it on a terminal, or approve exactly this: toolhost trust "+
			approvableOf(store, cfg, path, content).Digest, "nothing was approved, as there is no terminal to ask on")
	}
	if err := a.askTrust(ctx, path, content); err != nil {
		return err
	}
	return a.approveFile(store, path, content)
}

func (a *app) approveFile(store *trust.Store, path string, content []byte) error {
	vars, err := a.variables()
	if err != nil {
		return err
	}
	if err := agentfile.Approve(store, path, content, vars); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "Approved. If the file changes you will have to approve it again.")
	return nil
}

func (a *app) askTrust(ctx context.Context, path string, content []byte) error {
	line, _, err := a.readLine(ctx,
		fmt.Sprintf("Approve %s with all of this (sha256 %s)? (y/n): ", show.Word(filepath.Base(path)),
			show.Digest(string(content))))
	if err != nil {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return tool.Errorf(tool.Denied, "%s is not approved", path).Suggest("Until it is, it has no effect.")
	}
	return nil
}

func (a *app) linesText(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(a.lineText(line))
	}
	return b.String()
}

// lineText marks where a long line continues, as a terminal would make it look like another line.
func (a *app) lineText(line string) string {
	width := terminalWidth(a.out)
	if width == 0 {
		return "  " + show.Line(line) + "\n"
	}
	return show.Block(line, width)
}

func (a *app) changeText(store *trust.Store, key string, content []byte) string {
	before, known := store.Get(key)
	name := filepath.Base(key)
	if !known {
		return "Its text:\n" + show.Prose(string(content), terminalWidth(a.out))
	}
	var files strings.Builder
	for _, file := range digest.Files(before.Files).Changed() {
		files.WriteString(a.lineText("changed since you approved it, and run with the permissions of agent.hcl: " + file))
	}
	diff := textedit.Diff(name, name, before.Content, content, 3)
	if diff == "" {
		return "The file is as you approved it before.\n" + files.String()
	}
	return files.String() + fmt.Sprintf("Changed since you approved it at %s:\n%s",
		before.Time.Local().Format("2006-01-02 15:04"), show.Prose(diff, terminalWidth(a.out)))
}

// revoke revokes the approval of a file, even of a deleted one.
func (a *app) revoke(path string) error {
	if path == "" {
		path = filepath.Join(cmp.Or(a.flags.workspace, "."), config.FileName)
	}
	dir, err := trust.Dir()
	if err != nil {
		return err
	}
	key := agentfile.Key(path)
	if err := trust.Open(dir).Revoke(key); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s is no longer approved.\n", show.Line(key))
	return nil
}

func (a *app) trustStore(cfg *config.Config) (*trust.Store, error) {
	store, err := project.Location{Workspace: a.flags.workspace}.TrustStore(cfg)
	return store, a.asUsage(err)
}

// findStanding finds the selected agent.hcl and its standing, and prints its mistakes.
func (a *app) findStanding() (*agentfile.Standing, error) {
	opening, err := a.opening(context.Background())
	if err != nil {
		return nil, err
	}
	return opening.Find()
}

func (a *app) noteStanding(s *agentfile.Standing) {
	if text, next := s.Explain(); text != "" {
		fmt.Fprintf(a.err, "%s %s\n  %s\n", a.painter.yellow("!"), noted(a.err, show.Line(text), 2),
			noted(a.err, next, 4))
	}
}

// approvable is what an approval of a file covers, the JSON output of toolhost trust.
type approvable struct {
	Path    string   `json:"path"`
	Content string   `json:"content"`
	Effects []string `json:"effects"`
	Lent    []string `json:"lent"`
	// Files maps the files that run with a grant to their digests.
	Files map[string]string `json:"files"`
	// Digest covers all above: toolhost trust DIGEST approves only this.
	Digest string `json:"digest"`

	Approved bool `json:"approved"`
	// Known reports whether the file was approved before, Diff what changed since, and Changed in which
	// files.
	Known   bool     `json:"known"`
	Diff    string   `json:"diff,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

func approvableOf(store *trust.Store, cfg *config.Config, path string, content []byte) approvable {
	key := agentfile.Key(path)
	a := approvable{Path: key, Content: string(content), Effects: append([]string{}, cfg.Grants()...),
		Lent:  append([]string{}, cfg.DirectoryGrants()...),
		Files: cfg.FileDigests(), Approved: agentfile.Holds(store, cfg)}
	text := sha256.Sum256([]byte(a.Content))
	// All that must be seen to approve it.
	sum := sha256.Sum256(tool.MustMarshal([]any{a.Path, hex.EncodeToString(text[:]), a.Effects, a.Lent, a.Files}))
	a.Digest = hex.EncodeToString(sum[:])
	if before, known := store.Get(key); known {
		name := filepath.Base(key)
		a.Known, a.Changed = true, digest.Files(before.Files).Changed()
		a.Diff = textedit.Diff(name, name, before.Content, content, 3)
	}
	return a
}

// check refuses a file other than the shown one.
func (a approvable) check(shown string) error {
	if shown != a.Digest {
		return tool.Errorf(tool.Conflict, "%s, or what an approval lets it do, is not what was shown", a.Path).
			Suggest("Nothing was approved. Look at it again.")
	}
	return nil
}

// trustShown shows a file for programs, or approves what one has shown.
func (a *app) trustShown(flags trustFlags, store *trust.Store, cfg *config.Config, path string, content []byte) error {
	what := approvableOf(store, cfg, path, content)
	switch {
	case flags.digest != "":
		if err := what.check(flags.digest); err != nil {
			return err
		}
		return a.approveFile(store, path, content)
	case !flags.show:
		return usagef("Add --show.", "--json only shows")
	}
	return writeIndented(a.out, what)
}
