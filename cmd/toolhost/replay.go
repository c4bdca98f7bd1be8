package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/keep/userdir"
	"github.com/toolhost/toolhost/internal/mcpserve"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/replay"
	"github.com/toolhost/toolhost/internal/show"
	"github.com/toolhost/toolhost/plugins/shipped"
)

// replayFlags are the flags of toolhost replay.
type replayFlags struct {
	normalize []string
	json      bool
	keep      bool
	from      string
	force     bool
	approve   bool
	serve     bool
	order     string
}

func (a *app) replayCommand() *cobra.Command {
	var flags replayFlags
	c := &cobra.Command{
		Use:   "replay SESSION | --from FILE",
		Short: "Run a recorded session again on a copy of the workspace, and compare",
		Long: `Run a recorded session again and compare: call by call what it gives back, and
what the files of the workspace hold then.

It runs on a copy of the workspace, which is first made what it was when the
session began: all that was changed since is taken back there. Where that cannot
be done, replay says why. Calls that reach out, to the web or to other MCP
servers, get their answers from the record.

Results are compared after what differs from run to run is replaced by its name:
path (of the workspace), temp, time, duration, id. --normalize names others.

With --from it replays a session that was recorded elsewhere, by another person or
in another checkout, from a file that "toolhost export SESSION --format replay"
has written. The workspace has to be what that one was when the session began;
--force replays on what is here. Calls that the rules here ask about run only
with --approve: read the file first if you do not know who wrote it.

With --serve nothing runs: an MCP client on stdin and stdout gets the recorded
answers, in the order of the record, or with --order any to the first call that
is the same and was not answered yet.

Exit codes: 0 all is as it was, 1 something differs.`,
		Example: `  toolhost replay cli
  toolhost replay mcp-ABCDEFGHIJ --json
  toolhost replay --from session.replay
  toolhost replay cli --serve --order any`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case (flags.from != "") == (len(args) == 1):
				return usagef("`toolhost events --sessions` lists the sessions.",
					"replay needs a session, or a file with --from, and not both")
			case flags.from == "" && (flags.force || flags.approve):
				return usagef("Leave them out.", "--force and --approve are for --from")
			case flags.from != "" && flags.serve:
				return usagef("Leave one of them out.", "--serve answers from the record, not --from a file")
			case flags.from != "":
				return a.replayFile(c.Context(), &flags)
			}
			if err := record.ValidSession(args[0]); err != nil {
				return usage(err)
			}
			if flags.serve {
				return a.serveRecording(c.Context(), args[0], flags.order)
			}
			return a.replay(c.Context(), args[0], &flags)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&flags.normalize, "normalize", replay.Normalizations(),
		"what is replaced before results are compared")
	f.BoolVar(&flags.json, "json", false, "print JSON, for programs: an object a line for each call")
	f.BoolVar(&flags.keep, "keep", false, "leave the copy, and say where it is")
	f.StringVar(&flags.from, "from", "", "replay a session that was exported to this file (- for stdin)")
	f.BoolVar(&flags.force, "force", false, "with --from: also where the workspace is not what it was then")
	f.BoolVar(&flags.approve, "approve", false, "with --from: run calls that the rules here ask about")
	f.BoolVar(&flags.serve, "serve", false, "answer an MCP client from the record")
	f.StringVar(&flags.order, "order", replay.Strict, "with --serve: strict, or any for the first call that matches")
	completeFlag(c, "normalize", replay.Normalizations()...)
	completeFlag(c, "order", replay.Strict, replay.Any)
	a.completeFrom(c, "", sessionNames)
	return c
}

func (a *app) replay(ctx context.Context, session string, flags *replayFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	recording, err := recordingOf(ctx, p, session)
	if err != nil {
		return err
	}
	flags.approve = true // whoever has the record has approved what is in it
	return a.replayCopied(ctx, p, recording, flags, func(dir string) error {
		return recording.Rebuild(ctx, p.Undo, dir)
	})
}

func (flags *replayFlags) check() error {
	for _, name := range flags.normalize {
		if !slices.Contains(replay.Normalizations(), name) {
			return usagef("Use some of "+strings.Join(replay.Normalizations(), ", ")+", with commas between them.",
				"there is no normalization %q", name)
		}
	}
	return nil
}

// recordingOf reads a session of a project.
func recordingOf(ctx context.Context, p *project.Project, session string) (*replay.Recording, error) {
	if err := p.Recorder.HasSession(ctx, session); err != nil {
		return nil, unknownName(true, err)
	}
	return replay.Read(ctx, p.Recorder, p.Undo, session, p.Workspace.Root())
}

// replayFile replays a session that was recorded elsewhere.
func (a *app) replayFile(ctx context.Context, flags *replayFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	in := a.in
	if flags.from != "-" {
		file, err := os.Open(flags.from)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	recording, err := replay.ReadFile(in, flags.from)
	if err == nil {
		err = record.ValidSession(recording.Session)
	}
	if err != nil {
		return err
	}
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	return a.replayCopied(ctx, p, recording, flags, func(dir string) error {
		err := recording.CheckStart(ctx, dir, p.Config().Record.Ignore)
		if err != nil && flags.force && tool.CodeOf(err) == tool.Conflict {
			recording.Doubts = append(recording.Doubts, tool.AsError(err).Message)
			return nil
		}
		return err
	})
}

// exportForReplay writes a session for a replay on another checkout.
func (a *app) exportForReplay(ctx context.Context, p *project.Project, session string) error {
	recording, err := recordingOf(ctx, p, session)
	if err != nil {
		return err
	}
	dir, remove, err := a.replayCopy(ctx, p, func(dir string) error { return recording.Rebuild(ctx, p.Undo, dir) })
	if err != nil {
		return err
	}
	defer remove()
	return recording.Write(ctx, a.out, dir)
}

// replayCopied runs a session in a copy of the workspace, which prepare makes what
// it was then.
func (a *app) replayCopied(ctx context.Context, p *project.Project, recording *replay.Recording, flags *replayFlags,
	prepare func(dir string) error) error {
	dir, remove, err := a.replayCopy(ctx, p, prepare)
	if err != nil {
		return err
	}
	if flags.keep {
		fmt.Fprintf(a.err, "The copy of the workspace is %s.\n", dir)
	} else {
		defer remove()
	}
	return a.replayOn(ctx, dir, recording, p, flags)
}

// replayCopy makes a copy of the workspace, and prepares it.
func (a *app) replayCopy(ctx context.Context, p *project.Project,
	prepare func(dir string) error) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "toolhost-replay-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", nil, err
	}
	remove = func() {
		if state, err := userdir.State(dir); err == nil {
			_ = os.RemoveAll(state)
		}
		if err := os.RemoveAll(dir); err != nil {
			a.logger.WarnContext(ctx, "the copy of the workspace was not removed", "error", err)
		}
	}
	if err = replay.Copy(ctx, p.Workspace.Root(), dir, p.Workspace.Hides); err == nil {
		err = prepare(dir)
	}
	if err != nil {
		remove()
	}
	return dir, remove, err
}

// replayOn runs the session in the copy.
func (a *app) replayOn(ctx context.Context, dir string, recording *replay.Recording, p *project.Project,
	flags *replayFlags) error {
	again := *a
	again.telemetry, again.copyOf = nil, p.Workspace.Root()
	if again.flags.config == "" { // it counts as far as it does in the workspace itself
		again.search = cmp.Or(a.flags.workspace, ".")
	}
	again.flags.workspace, again.flags.toolset, again.flags.artifacts = dir, a.toolsetOf(p, recording), ""
	stage, err := again.open(ctx)
	if err != nil {
		return err
	}
	defer stage.Close()
	doubts := recording.Doubts
	if was := recording.Calls[0].Config; was != "" && was != stage.Config().SHA256 {
		doubts = append(doubts, "agent.hcl has changed since")
	}
	for _, doubt := range doubts {
		fmt.Fprintln(a.err, "Note: "+noted(a.err, show.Line(doubt), 2))
	}
	counts := make(map[string]int)
	err = recording.Run(ctx, &replay.Stage{Host: stage.Host, Recorder: stage.Recorder, Workspace: stage.Workspace,
		Load: stage.LoadFor, Normalize: flags.normalize, Ignore: stage.Config().Record.Ignore,
		Approve: flags.approve}, func(s replay.Step) {
		counts[s.Outcome]++
		a.printStep(s, flags.json)
	})
	if err != nil {
		return err
	}
	if !flags.json {
		fmt.Fprintf(a.out, "%s: %d as they were, %d differ, %d answered from the record, %d not run.\n",
			counted(len(recording.Calls), "call"), counts[replay.Same], counts[replay.Differs], counts[replay.Recorded],
			counts[replay.Skipped])
	}
	if counts[replay.Differs] > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}

// toolsetOf is the toolset that the session was offered.
func (a *app) toolsetOf(p *project.Project, recording *replay.Recording) string {
	name := recording.Calls[0].Toolset
	_, own := shipped.Find(name)
	if own || slices.ContainsFunc(p.Config().Toolsets, func(t config.Toolset) bool { return t.Name == name }) {
		return name
	}
	return a.flags.toolset
}

func (a *app) printStep(s replay.Step, asJSON bool) {
	if asJSON {
		if line, err := json.Marshal(s); err == nil {
			fmt.Fprintf(a.out, "%s\n", line)
		}
		return
	}
	line := fmt.Sprintf("%-8s  %s %s", s.Outcome, s.Call, s.Tool)
	switch {
	case s.Why != "":
		line += ": " + s.Why
	case len(s.Normalized) > 0:
		line += ", after " + strings.Join(s.Normalized, ", ")
	}
	fmt.Fprintln(a.out, noted(a.out, show.Line(line), 2))
	if s.Was != s.Is {
		a.showContent("was", s.Was+"\n")
		a.showContent("is", s.Is+"\n")
	}
}

// serveRecording answers an MCP client from the record of a session.
func (a *app) serveRecording(ctx context.Context, session, order string) error {
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Recorder.HasSession(ctx, session); err != nil {
		return unknownName(true, err)
	}
	recording, err := replay.ReadAnswers(ctx, p.Recorder, session)
	if err != nil {
		return err
	}
	playback, err := replay.NewPlayback(recording, p.Host.Catalog(), order)
	if err != nil {
		return usage(err)
	}
	h, err := host.New(ctx, host.Options{Root: p.Workspace.Root(), Sources: []host.Source{playback}, Logger: a.logger})
	if err != nil {
		return err
	}
	server := mcpserve.New(h, mcpserve.Options{Name: "toolhost", Version: version(), Logger: a.logger,
		Instructions: func(context.Context) string {
			return "The tools of the recorded session " + session +
				". Calls are answered from the record; nothing runs."
		}})
	err = server.ServeStdio(ctx, a.in, a.out)
	if left := playback.Left(); err == nil && left > 0 {
		fmt.Fprintf(a.err, "%s of the record were not asked for.\n", counted(left, "call"))
	}
	return err
}
