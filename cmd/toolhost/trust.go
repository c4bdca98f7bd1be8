package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/agentfile"
	"github.com/toolhost/toolhost/internal/files/textedit"
	"github.com/toolhost/toolhost/internal/keep/digest"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/show"
	"github.com/toolhost/toolhost/internal/trust"
)

func (a *app) trustCommand() *cobra.Command {
	var flags trustFlags
	c := &cobra.Command{
		Use:   "trust",
		Short: "Approve this project's agent.hcl, as it is now",
		Long: `Approve this project's agent.hcl, as it is now.

What an approval lets it do is shown first, with what has changed since the last
approval; on a terminal you are asked. An agent.hcl can run programs and loosen limits. Until you have approved it, it
can only restrict: what it denies, asks for, protects or hides holds, and nothing
else does. An approval is for the file's content and for where symlinks lead in
the paths that it names; a change asks again, and until then what you approved
before goes on to restrict. A running server takes an approval over at once. A
file named with --config counts as approved, and --trust or TOOLHOST_TRUST=1
approves for one run.`,
		Example: `  toolhost trust --show
  toolhost trust
  toolhost trust --revoke`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.trust(c.Context(), flags) },
	}
	c.AddCommand(a.trustToolsCommand())
	c.Flags().BoolVar(&flags.revoke, "revoke", false, "take the approval back")
	c.Flags().BoolVar(&flags.show, "show", false, "only show what an approval would let it do")
	c.Flags().BoolVar(&flags.yes, "yes", false, "approve without being asked")
	c.Flags().BoolVar(&flags.json, "json", false, "with --show: print JSON, for programs")
	c.Flags().StringVar(&flags.digest, "digest", "",
		"approve without being asked, and only what --show --json has shown with this digest")
	return c
}

// trustFlags are the flags of toolhost trust.
type trustFlags struct {
	revoke, show, yes, json bool
	digest                  string
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
	content, err := os.ReadFile(path)
	if err != nil {
		return usagef("Make it readable.", "%v", err)
	}
	cfg, err := a.readConfigFile(path)
	if err != nil {
		return err
	}
	store, err := a.trustStore(cfg)
	if err != nil {
		return err
	}
	if flags.json || flags.digest != "" {
		return a.trustShown(flags, store, cfg, path, content)
	}
	shown := show.Line(agentfile.Key(path)) + ":\n" + a.effectsText(cfg.Effects()) +
		a.lentText(cfg) + a.changeText(store, agentfile.Key(path), content)
	if err := a.page(ctx, a.out, shown); err != nil || flags.show {
		return err
	}
	if !flags.yes && isTerminal(a.in) && isTerminal(a.out) {
		if err := a.askTrust(ctx, path, content); err != nil {
			return err
		}
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
	fmt.Fprintln(a.out, "Approved. A change of the file will ask again.")
	return nil
}

// askTrust asks whether the file that was shown is approved.
func (a *app) askTrust(ctx context.Context, path string, content []byte) error {
	line, _, err := a.readLine(ctx,
		fmt.Sprintf("Approve %s with all of this (sha256 %s)? (y/n): ", show.Word(filepath.Base(path)),
			show.Digest(string(content))))
	if err != nil {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return tool.Errorf(tool.Denied, "%s is not approved", path).Suggest("Until it is, it can only restrict.")
	}
	return nil
}

// effectsText lists what an approval lets a file do.
func (a *app) effectsText(effects []config.Effect) string {
	if len(effects) == 0 {
		return "  runs nothing and loosens nothing\n"
	}
	var b strings.Builder
	for _, e := range effects {
		at := e.Pos
		if at != "" {
			at += ": "
		}
		b.WriteString(a.lineText(at + e.String()))
	}
	return b.String()
}

// lentText lists the grants that hold for what nobody is asked about.
func (a *app) lentText(cfg *config.Config) string {
	var b strings.Builder
	for _, line := range cfg.LentGrants() {
		b.WriteString(a.lineText(line))
	}
	return b.String()
}

// lineText is a line that ends where it seems to: a terminal would go on below
// with one that is too long, as if it were the next.
func (a *app) lineText(line string) string {
	width := terminalWidth(a.out)
	if width == 0 {
		return "  " + show.Line(line) + "\n"
	}
	return show.Block(line, width)
}

// changeText shows what has changed in a file since the user approved it.
func (a *app) changeText(store *trust.Store, key string, content []byte) string {
	before, known := store.Get(key)
	name := filepath.Base(key)
	switch {
	case !known:
		return ""
	case before.Content == nil:
		return "What you approved before was not kept, so that the change cannot be shown.\n"
	}
	var files strings.Builder
	for _, file := range digest.Files(before.Files).Changed() {
		files.WriteString(a.lineText("changed since you approved it, and run with a grant: " + file))
	}
	diff := textedit.Diff(name, name, before.Content, content, 3)
	if diff == "" {
		return "The file is as you approved it before.\n" + files.String()
	}
	return files.String() + fmt.Sprintf("Changed since you approved it at %s:\n%s",
		before.Time.Local().Format("2006-01-02 15:04"), show.Prose(diff, terminalWidth(a.out)))
}

// revoke takes back the approval of a file, also of one that is gone.
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

// trustStore is where approvals lie.
func (a *app) trustStore(cfg *config.Config) (*trust.Store, error) {
	store, err := project.Place{Workspace: a.flags.workspace}.TrustStore(cfg)
	return store, a.asUsage(err)
}

// findStanding finds the agent.hcl that is meant, and how far it counts.
// Mistakes in it are shown.
func (a *app) findStanding() (*agentfile.Standing, error) {
	opening, err := a.opening(context.Background())
	if err != nil {
		return nil, err
	}
	return opening.Find()
}

// noteStanding reports an agent.hcl that does not count wholly.
func (a *app) noteStanding(s *agentfile.Standing) {
	if text, next := s.Explain(); text != "" {
		fmt.Fprintf(a.err, "%s %s\n  %s\n", a.painter.yellow("!"), noted(a.err, show.Line(text), 2),
			noted(a.err, next, 4))
	}
}

// approvable is what an approval of a file is for, as toolhost trust --json has it.
type approvable struct {
	Path    string   `json:"path"`
	Content string   `json:"content"`
	Effects []string `json:"effects"`
	Lent    []string `json:"lent"`
	// Files are those that run with a grant, and their digests.
	Files map[string]string `json:"files"`
	// Digest is that of all above: --digest approves this and nothing else.
	Digest string `json:"digest"`

	Approved bool `json:"approved"`
	// Known says that the file was approved before, Diff what has changed in it
	// since, and Changed which of the files.
	Known   bool     `json:"known"`
	Diff    string   `json:"diff,omitempty"`
	Changed []string `json:"changed,omitempty"`
}

// approvableOf looks at a file as it is now.
func approvableOf(store *trust.Store, cfg *config.Config, path string, content []byte) approvable {
	key := agentfile.Key(path)
	a := approvable{Path: key, Content: string(content), Effects: []string{},
		Lent:  append([]string{}, cfg.LentGrants()...),
		Files: cfg.FileDigests(), Approved: agentfile.Holds(store, cfg)}
	for _, e := range cfg.Effects() {
		text := e.String()
		if e.Pos != "" {
			text = e.Pos + ": " + text
		}
		a.Effects = append(a.Effects, text)
	}
	sum := sha256.Sum256(tool.MustMarshal(a.decidedOn()))
	a.Digest = hex.EncodeToString(sum[:])
	if before, known := store.Get(key); known {
		name := filepath.Base(key)
		a.Known, a.Changed = true, digest.Files(before.Files).Changed()
		if before.Content != nil {
			a.Diff = textedit.Diff(name, name, before.Content, content, 3)
		}
	}
	return a
}

// decidedOn is what somebody who approves has to have seen.
func (a approvable) decidedOn() []any {
	content := sha256.Sum256([]byte(a.Content))
	return []any{a.Path, hex.EncodeToString(content[:]), a.Effects, a.Lent, a.Files}
}

// check refuses another file than the one that was shown.
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
