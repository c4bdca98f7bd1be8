package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// optionalPrograms are needed by some tools.
var optionalPrograms = []struct{ name, purpose string }{
	{"rg", "the rg tool"},
	{"git", "git_diff"},
	{"cloc", "the cloc tool"},
}

type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
	// Warning marks what is no fault: it was chosen, or few need it.
	Warning bool `json:"warning,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON, verbose bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine: what works, what is missing, and which tools need it",
		Long: `Check this machine: what works, what is missing, and which tools need it.
It tries what calls do: it starts the plugins, connects to the MCP servers, and has a
confined process make and remove a directory in the workspace.

The exit code is 1 if something is wrong. Not counted are an agent.hcl that is not
approved, a sandbox that is off (unless agent.hcl has a list of hosts, which needs
it), and a missing program that few tools need.
--verbose also lists the limits of the sandbox.`,
		Example: `  toolhost doctor
  toolhost doctor --verbose
  toolhost doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings := a.examine(c.Context(), verbose)
			if asJSON {
				if err := writeIndented(a.out, findings); err != nil {
					return err
				}
			} else {
				a.printFindings(findings)
			}
			if slices.ContainsFunc(findings, func(f finding) bool { return !f.OK && !f.Warning }) {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "also list what the sandbox does not cover")
	return c
}

// printFindings shows each finding below its mark, wrapped to the terminal. The check's name is in a
// column, or above the finding if too wide.
func (a *app) printFindings(findings []finding) {
	const widest = 24
	column := 14
	for _, f := range findings {
		if n := len(f.Check); n <= widest {
			column = max(column, n)
		}
	}
	width, margin := terminalWidth(a.out), column+3
	for _, f := range findings {
		mark := a.painter.green("✓")
		if !f.OK {
			mark = a.painter.yellow("!")
		}
		check := fmt.Sprintf("%-*s", column, f.Check)
		if len(f.Check) > widest {
			check = f.Check + "\n" + strings.Repeat(" ", column+2)
		}
		fmt.Fprintf(a.out, "%s %s %s\n", mark, check, wrapped(f.Detail, width, margin))
		if f.Next != "" {
			fmt.Fprintf(a.out, "%*s%s\n", margin, "", wrapped(f.Next, width, margin))
		}
	}
}

func firstMistake(found config.Diagnostics) string {
	first := found[max(0, slices.IndexFunc(found, func(d config.Diagnostic) bool { return d.Severity == "error" }))]
	return show.Text(fmt.Sprintf("the first, in line %d: %s: %s", first.Line, first.Summary, first.Detail))
}

// standingFinding reports an agent.hcl that is not in force, and whether it could be.
func (a *app) standingFinding(standing *agentfile.Standing) finding {
	text, next := standing.Explain()
	if text == "" {
		return finding{}
	}
	f := finding{Check: "configuration", Warning: true, Detail: text, Next: next}
	vars, err := a.variables()
	if err != nil || standing.State == agentfile.Missing {
		return f
	}
	if _, diags := config.Load(standing.Path, config.LoadOptions{Vars: vars}); diags.HasErrors() {
		f.Detail += " It has mistakes; " + firstMistake(diags)
		f.Next = "Correct them before you approve it; toolhost validate shows all of them."
	}
	return f
}

// examine checks the configuration, the plugins and the programs.
func (a *app) examine(ctx context.Context, verbose bool) []finding {
	var findings []finding
	avoid := ""
	p, err := a.open(ctx)
	if err != nil {
		p = nil
		f := finding{Check: "configuration", Detail: err.Error(), Next: "Run toolhost validate."}
		if e := tool.AsError(err); e.Code != tool.Internal {
			f.Next = e.Suggestion
		}
		if wrong, ok := errors.AsType[*project.MistakesError](err); ok {
			f.Detail = "agent.hcl has mistakes; " + firstMistake(wrong.Found)
			f.Next = "Correct them; toolhost validate shows all of them."
		}
		findings = append(findings, f)
	} else {
		defer p.Close()
		avoid = p.Workspace.Root()
		findings = append(findings, finding{Check: "workspace", OK: true, Detail: avoid})
		if f := a.standingFinding(a.standing.Load()); f.Detail != "" {
			findings = append(findings, f)
		} else {
			findings = append(findings,
				finding{Check: "configuration", OK: true, Detail: cmp.Or(p.Config().Path, "none; the defaults hold")})
		}
		var plugins []finding
		p.Plugins().Try(ctx)
		for _, s := range pluginStates(p) {
			if s.LastError != nil {
				plugins = append(plugins, finding{Check: "plugin " + s.Name,
					Detail: show.Text(indented(s.LastError.Message)), Next: s.LastError.Suggestion})
			}
		}
		findings = append(findings, plugins...)
		for _, problem := range p.Host.Catalog().Problems() {
			told := slices.ContainsFunc(plugins, func(f finding) bool { return f.Check == problem.Source })
			if told || p.IsServer(problem.Source) {
				continue // reported by its own findings
			}
			findings = append(findings,
				finding{Check: problem.Source, Detail: show.Text(indented(problem.Err.Message)),
					Next: problem.Err.Suggestion})
		}
		for _, left := range slices.Concat(p.Host.Catalog().LeftOut(), p.Host.Catalog().Warnings()) {
			findings = append(findings,
				finding{Check: left.Source, Warning: true, Detail: show.Line(left.Err.Message),
					Next: show.Line(left.Err.Suggestion)})
		}
		findings = append(findings, serverFindings(ctx, p)...)
		findings = append(findings, a.namedFindings(p)...)
		findings = append(findings, stateFindings(ctx, p)...)
		findings = append(findings, networkFindings(ctx, p)...)
		if err := tool.AsError(p.CheckTasks(ctx)); err != nil {
			findings = append(findings,
				finding{Check: "Taskfile", Detail: show.Text(indented(err.Message)), Next: err.Suggestion})
		}
	}
	findings = append(findings, refusalFindings(ctx, cmp.Or(avoid, a.likelyRoot()))...)
	findings = append(findings, sandboxFindings(ctx, p, verbose)...)
	works := func(f finding) bool { return f.Check == "sandbox" && f.OK }
	unwritable := func(f finding) bool { return f.Check == "disk" }
	if p != nil && slices.ContainsFunc(findings, works) && !slices.ContainsFunc(findings, unwritable) {
		if err := tool.AsError(p.TryCommand()); err != nil {
			findings = append(findings, finding{Check: "commands", Detail: show.Text(err.Message), Next: err.Suggestion})
		}
	}
	for _, program := range optionalPrograms {
		f := finding{Check: program.name, OK: true}
		if f.Detail, err = proc.LookPath(program.name, avoid); err != nil {
			f = finding{Check: program.name, Warning: true, Detail: "is missing; it is needed for " + program.purpose,
				Next: "Install it if you want that."}
		} else if program.name == "git" && obeysBareRepositories(ctx, f.Detail) {
			f = finding{Check: program.name, Warning: true, Detail: f.Detail + ": any directory that looks like a bare repository is used as one",
				Next: "Set git config --global safe.bareRepository explicit, so that it uses only those that you name."}
		}
		findings = append(findings, f)
	}
	findings = append(findings, a.clientFindings()...)
	return append(findings, installationFindings(avoid)...)
}

// networkFindings reports which blocks reach which hosts, and whether that can be enforced here.
func networkFindings(ctx context.Context, p *project.Project) (findings []finding) {
	level := p.SandboxLevel()
	for _, reach := range p.Config().Reaches() {
		f := finding{Check: "network", OK: true, Detail: show.Line(fmt.Sprintf("%s reaches %s", reach.Block, reach))}
		if !reach.All && (level == sandbox.Landlock || level == sandbox.Off || !sandbox.Detect(ctx).Full.Works) {
			f.OK, f.Detail = false, f.Detail+": a list of hosts cannot be held at this sandbox level, so nothing of it runs"
			f.Next = "It takes the level full, of which the line about the sandbox says more."
		}
		findings = append(findings, f)
	}
	return findings
}

// namedFindings reports what agent.hcl names and is missing.
func (a *app) namedFindings(p *project.Project) (findings []finding) {
	c := checker{project: p, cfg: p.Config(), inert: p.Config().ReadOnly, toolset: a.flags.toolset}
	c.programs()
	c.grants()
	c.files()
	c.names()
	for _, d := range c.found {
		findings = append(findings, finding{
			Check: "agent.hcl", Detail: show.Text(fmt.Sprintf("line %d: %s: %s", d.Line, d.Summary, d.Detail)),
			Next: d.Suggestion,
		})
	}
	return findings
}

// likelyRoot returns the workspace if agent.hcl cannot be read.
func (a *app) likelyRoot() string {
	if a.flags.workspace != "" {
		return a.flags.workspace
	}
	path, err := a.configPath()
	if err != nil || path == "" {
		return "."
	}
	return filepath.Dir(path)
}

func serverFindings(ctx context.Context, p *project.Project) (findings []finding) {
	servers := p.Servers()
	if servers == nil {
		return nil
	}
	servers.Connect(ctx)
	for _, s := range servers.Status() {
		f := finding{Check: "mcp " + s.Name}
		switch {
		case s.LastError != nil:
			f.Detail, f.Next = show.Text(indented(s.LastError.Message)), s.LastError.Suggestion
		default:
			f.OK = s.State == mcpclient.Running
			f.Detail = fmt.Sprintf("%s: %s, protocol %s, %d tools, connected in %s",
				s.State, show.Text(strings.TrimSpace(s.Server+" "+s.Version)), s.Protocol, s.Tools,
				s.StartTook.Round(time.Millisecond))
			if s.Pinned {
				f.Detail += "; it does not cope with the newest protocol"
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// refusalFindings reports servers that could not apply a change and run with earlier tools.
func refusalFindings(ctx context.Context, root string) (findings []finding) {
	for _, r := range project.Refusals(ctx, root) {
		findings = append(findings, finding{
			Check: "serve",
			Detail: fmt.Sprintf("the server with process id %d still offers the tools of before %s: %s", r.PID,
				r.Since.Local().Format(time.DateTime), show.Text(indented(r.Reason))),
			Next: "Fix it; the server takes the next change of agent.hcl or of a plugin's program over by itself.",
		})
	}
	return findings
}

// sandboxFindings reports how toolhost's child processes are confined here, by agent.hcl; verbose also
// what the level does not cover.
func sandboxFindings(ctx context.Context, p *project.Project, verbose bool) []finding {
	level := sandbox.Auto
	if p != nil {
		level = p.SandboxLevel()
	}
	report := sandbox.Detect(ctx)
	holds, gaps := report.Promised(level)
	found := finding{Check: "sandbox", Detail: string(level) + ": " + holds}
	switch {
	case level == sandbox.Off:
		found.Warning = true
		found.Next = "Take the sandbox block out of agent.hcl, and TOOLHOST_SANDBOX out of the environment, if that is not meant."
	case level == sandbox.Auto && report.Strongest != "":
		found.OK, found.Detail = true, string(report.Strongest)+": "+holds
		if !report.Full.Works && (report.Around == "" || report.Around == sandbox.Other) {
			found.Next = report.Full.Weaker() + " " + report.Full.Remedy
		}
	case level == sandbox.Full && report.Full.Works, level == sandbox.Landlock && report.Landlock.Works:
		found.OK = true
	case level == sandbox.Full && report.Landlock.Works:
		found.Detail = "commands, tasks and plugins are refused: level full does not work here: " + report.Full.Reason
		found.Next = `Level landlock works: sandbox { level = "auto" } takes the strongest that does. ` + report.Full.Remedy
	case level == sandbox.Auto, level == sandbox.Full, level == sandbox.Landlock:
		found.Detail = "commands, tasks and plugins are refused, because no level works here: " +
			sandbox.Reasons(report.Full, report.Landlock)
		found.Next = sandbox.Remedies(report.Full, report.Landlock) + " To run them unconfined all the same, set TOOLHOST_SANDBOX=off " +
			"for toolhost, or sandbox { level = \"off\" } in an approved agent.hcl."
	default:
		found.Detail = fmt.Sprintf("commands, tasks and plugins are refused: there is no sandbox level %q", level)
		found.Next = "Write auto, full, landlock or off, in agent.hcl or in TOOLHOST_SANDBOX."
	}
	if verbose && len(gaps) > 0 {
		found.Next = strings.TrimSpace(strings.TrimSpace(found.Next) + " Not covered: " + strings.Join(gaps, " "))
	}
	found.Next = strings.TrimSpace(found.Next)
	findings := []finding{found}
	if report.Around != "" {
		findings = append(findings, finding{Check: "sandbox around", OK: true,
			Detail: "toolhost itself runs in " + report.Around.Name() + ", which also confines all that it starts"})
	}
	return findings
}

// obeysBareRepositories reports whether the user's git obeys a directory that only looks like a
// repository.
func obeysBareRepositories(ctx context.Context, git string) bool {
	cmd := exec.CommandContext(ctx, git, "config", "--global", "safe.bareRepository")
	cmd.Dir = os.TempDir()
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out)) != "explicit"
}

// undoState returns what is wrong with the undo store.
func undoState(ctx context.Context, p *project.Project) error {
	if err := p.Undo.Present(); err != nil {
		return err
	}
	if !p.Undo.Missing() {
		_, err := p.Undo.Calls(ctx, undo.Filter{})
		return err
	}
	calls, err := p.Recorder.Calls(ctx, record.Filter{Last: 1000})
	if err != nil || !slices.ContainsFunc(calls, func(c record.Call) bool { return c.Files > 0 }) {
		return nil // the record has its own line
	}
	return tool.Errorf(tool.Unavailable, "the undo store is missing, though calls changed files").
		Suggest("It was deleted, or nothing was kept. The next change makes a new one; `toolhost log` lists the calls.")
}

// stateFindings reports what keeps toolhost from writing here: a workspace that is read-only or full,
// and unreadable state.
func stateFindings(ctx context.Context, p *project.Project) (findings []finding) {
	if problem, next := unwritable(p.Workspace.Root()); problem != "" {
		findings = append(findings, finding{Check: "disk", Detail: problem, Next: next})
	}
	for _, check := range []struct {
		name string
		read func() error
	}{
		{"state", func() error {
			store, err := p.Approvals()
			if err == nil {
				_, err = store.List(ctx)
			}
			return err
		}},
		{"undo", func() error { return undoState(ctx, p) }},
		{"record", func() error {
			if _, err := p.Recorder.Sessions(ctx); err != nil || !p.Recorder.Missing() {
				return err
			}
			if changed, err := p.Undo.Calls(ctx, undo.Filter{Limit: 1}); err != nil || len(changed) == 0 {
				return nil
			}
			return tool.Errorf(tool.Unavailable, "the record is missing, but the undo store still has changes").
				Suggest("It was probably deleted. toolhost makes a new one when it starts next; `toolhost log --changed` lists the changes.")
		}},
	} {
		if err := tool.AsError(check.read()); err != nil {
			findings = append(findings,
				finding{Check: check.name, Detail: show.Text(indented(err.Message)), Next: err.Suggestion})
		}
	}
	return findings
}

// leastFree is the free space needed for the record and for undo, in bytes.
const leastFree = 16 << 20

// unwritable returns why nothing can be written in a directory, and what to do; "" if it can.
func unwritable(dir string) (problem, next string) {
	if err := unix.Access(dir, unix.W_OK); err != nil {
		if errors.Is(err, unix.EROFS) {
			return dir + " is on a read-only file system",
				"Mount it writable, or use only tools that read; calls are not recorded."
		}
		return fmt.Sprintf("%s cannot be written: %v", dir, err),
			"Give the user who runs toolhost the right to write there."
	}
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return "", ""
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free < leastFree {
		return fmt.Sprintf("%s has %d KiB left", dir, free>>10), "Make room: edits, the record and undo need it."
	}
	return "", ""
}
