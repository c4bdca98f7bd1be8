package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// selectFlags select the changes for undo, redo and diff.
type selectFlags struct {
	selection undo.Selection
	since     string
	paths     []string
	json      bool
}

func (a *app) selecting(c *cobra.Command, s *selectFlags) {
	f := c.Flags()
	f.StringVar(&s.selection.Call, "call", "", "the ID of a call, from toolhost log; the same as the argument CALL")
	f.StringVar(&s.selection.Session, "session", "", "the session (default: the one that changed something last)")
	f.BoolVar(&s.selection.All, "all", false, "every call of the session")
	f.StringVar(&s.since, "since", "",
		"every call since this time, in all sessions: 30m, 3d, 2006-01-02 or 2006-01-02T15:04:05Z")
	f.StringArrayVar(&s.paths, "path", nil, "only this file, or files below this directory (repeatable)")
	f.BoolVar(&s.json, "json", false, "print JSON")
	a.completeFrom(c, "", callsToUndo)
	a.completeSessions(c)
}

func (s *selectFlags) read(args []string) (err error) {
	if len(args) > 0 {
		if s.selection.Call != "" {
			return usagef("Give one of the two.", "both %s and --call %s are given", args[0], s.selection.Call)
		}
		s.selection.Call = args[0]
	}
	if s.selection.Session != "" {
		if err := record.ValidSession(s.selection.Session); err != nil {
			return usage(err)
		}
	}
	if s.selection.To != "" && (s.selection.Call != "" || s.selection.All || s.since != "") {
		return usagef("Give --to CALL alone, or with --path.", "--to is given with another choice of calls")
	}
	s.selection.Since, err = timeFlag("since", s.since)
	return err
}

// locate converts paths relative to the working directory to the workspace's.
func (s *selectFlags) locate(p *project.Project) error {
	for _, path := range s.paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return usage(err)
		}
		if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(real, filepath.Base(path))
		}
		rel, err := p.Workspace.Rel(path)
		if err != nil {
			return usage(err)
		}
		s.selection.Paths = append(s.selection.Paths, rel)
	}
	return nil
}

// changing opens the project and the workspace for undo: all of it, even what tools may not change,
// since the user restores it.
func (a *app) changing(c *cobra.Command, s *selectFlags) (*project.Project, *workspace.Workspace, error) {
	p, err := a.open(c.Context())
	if err != nil {
		return nil, nil, err
	}
	w, err := p.Unprotected()
	if err == nil {
		err = s.locate(p)
	}
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, w, nil
}

func (a *app) redoCommand() *cobra.Command {
	var flags undoFlags
	c := &cobra.Command{
		Use:   "redo [CALL]",
		Short: "Redo a change that was undone",
		Long: `Redo a change that was undone: by the last undo, by the undo named, or by the undo
of the call named. It works as toolhost undo does.`,
		Example: `  toolhost redo
  toolhost redo k7f2 --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.read(args); err != nil {
				return err
			}
			flags.selection.Redo = true
			return a.undo(c, flags)
		},
	}
	a.selecting(c, &flags.selectFlags)
	flags.add(c)
	return c
}

func (a *app) diffCommand() *cobra.Command {
	var flags selectFlags
	var patch bool
	c := &cobra.Command{
		Use:   "diff [CALL]",
		Short: "Show the file changes of calls",
		Long: `Show the file changes of the last call, of the call named, of a session, or of all
calls since a time. It compares the files before the calls with the files now, and
names those that were changed since. toolhost show CALL -p shows only one call.`,
		Example: `  toolhost diff
  toolhost diff --since 1h -p
  toolhost diff --all --session cli --path src`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.read(args); err != nil {
				return err
			}
			return a.diff(c, &flags, patch)
		},
	}
	a.selecting(c, &flags)
	c.Flags().BoolVarP(&patch, "patch", "p", false, "show the changes as a diff")
	return c
}

func (a *app) diff(c *cobra.Command, flags *selectFlags, patch bool) error {
	p, w, err := a.changing(c, flags)
	if err != nil {
		return err
	}
	defer p.Close()
	defer w.Close()
	d, err := p.Undo.Diff(c.Context(), w, flags.selection)
	if err != nil {
		return unknownName(flags.selection.Call != "", err)
	}
	if flags.json {
		return writeIndented(a.out, d)
	}
	a.showDiff(d, patch)
	return nil
}
