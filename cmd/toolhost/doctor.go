package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/peer/mcpclient"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/show"
)

// optionalPrograms are what some tools need, and what for.
var optionalPrograms = []struct{ name, purpose string }{
	{"rg", "the rg tool"},
	{"git", "git_diff"},
	{"cloc", "the cloc tool"},
}

// finding is one line of a doctor's report.
type finding struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
	// Warning marks what is no fault: somebody has chosen it, or few need it.
	Warning bool `json:"warning,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what works here, what is missing and what for",
		Long: `Tell what works here, what is missing and what for.

The exit code is 1 where something is wrong. An agent.hcl that is not approved, a
sandbox that is off, and a missing program that few tools need are no faults.`,
		Example: `  toolhost doctor
  toolhost doctor --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings := a.examine(c.Context())
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
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}

// printFindings shows each finding below its mark, wrapped to the terminal.
func (a *app) printFindings(findings []finding) {
	const margin = 17
	width := terminalWidth(a.out)
	for _, f := range findings {
		mark := a.painter.green("✓")
		if !f.OK {
			mark = a.painter.yellow("!")
		}
		fmt.Fprintf(a.out, "%s %-14s %s\n", mark, f.Check, wrapped(f.Detail, width, margin))
		if f.Next != "" {
			fmt.Fprintf(a.out, "  %-14s %s\n", "", wrapped(f.Next, width, margin))
		}
	}
}

// examine looks at the configuration, the plugins and the programs.
func (a *app) examine(ctx context.Context) []finding {
	var findings []finding
	avoid := ""
	p, err := a.open(ctx)
	if err != nil {
		detail := err.Error()
		if exit, ok := errors.AsType[*exitError](err); ok && exit.err == nil {
			detail = "agent.hcl has the mistakes that were shown"
		}
		p = nil
		next := cmp.Or(tool.AsError(err).Suggestion, "Run toolhost validate.")
		findings = append(findings, finding{Check: "configuration", Detail: detail, Next: next})
	} else {
		defer p.Close()
		avoid = p.Workspace.Root()
		findings = append(findings,
			finding{Check: "workspace", OK: true, Detail: avoid},
			a.configurationFinding(p.Config()))
		plugins := pluginFindings(p)
		findings = append(findings, plugins...)
		for _, problem := range p.Host.Catalog().Problems() {
			told := slices.ContainsFunc(plugins, func(f finding) bool { return f.Check == problem.Source })
			if told || p.IsServer(problem.Source) {
				continue // its own findings report it
			}
			findings = append(findings,
				finding{Check: problem.Source, Detail: show.Text(indented(problem.Err.Message)),
					Next: problem.Err.Suggestion})
		}
		for _, left := range p.Host.Catalog().LeftOut() {
			findings = append(findings,
				finding{Check: left.Source, Warning: true, Detail: show.Line(left.Err.Message),
					Next: show.Line(left.Err.Suggestion)})
		}
		findings = append(findings, serverFindings(ctx, p)...)
		findings = append(findings, a.namedFindings(p)...)
		findings = append(findings, stateFindings(ctx, p)...)
		if err := tool.AsError(p.CheckTasks(ctx)); err != nil {
			findings = append(findings,
				finding{Check: "Taskfile", Detail: show.Text(indented(err.Message)), Next: err.Suggestion})
		}
	}
	findings = append(findings, refusalFindings(ctx, cmp.Or(avoid, a.likelyRoot()))...)
	findings = append(findings, a.sandboxFindings(ctx, p)...)
	for _, program := range optionalPrograms {
		findings = append(findings, lookFor(program.name, program.purpose, avoid))
	}
	findings = append(findings, a.clientFindings()...)
	return append(findings, installationFindings(avoid)...)
}

func (a *app) configurationFinding(cfg *config.Config) finding {
	if text, next := a.standing.Load().Explain(); text != "" {
		return finding{Check: "configuration", Warning: true, Detail: text, Next: next}
	}
	return finding{Check: "configuration", OK: true, Detail: cmp.Or(cfg.Path, "none; the defaults hold")}
}

// namedFindings tells what agent.hcl names and is not there.
func (a *app) namedFindings(p *project.Project) (findings []finding) {
	c := checker{project: p, cfg: p.Config(), inert: len(a.standing.Load().Effects) > 0, toolset: a.flags.toolset}
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

// likelyRoot is the workspace where agent.hcl cannot be read.
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

// pluginFindings reports the plugins that failed the last time, in whichever
// process that was.
func pluginFindings(p *project.Project) (findings []finding) {
	for _, s := range pluginStates(p) {
		if s.LastError != nil {
			findings = append(findings, finding{
				Check: "plugin " + s.Name, Detail: show.Text(indented(s.LastError.Message)) + ago(s.LastErrorAt),
				Next: s.LastError.Suggestion,
			})
		}
	}
	return findings
}

// serverFindings connects to the MCP servers and tells how each is.
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

// refusalFindings reports servers that run with tools from before a change
// that they could not take over.
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

// sandboxFindings tell what holds for the processes that toolhost starts here,
// as agent.hcl has it.
func (a *app) sandboxFindings(ctx context.Context, p *project.Project) []finding {
	level := sandbox.Auto
	if p != nil {
		level = p.SandboxLevel()
	}
	report := sandbox.Detect(ctx)
	holds, gaps := report.Promised(level)
	found := finding{Check: "sandbox", Detail: string(level) + ": " + holds, Next: notCovered(gaps)}
	switch {
	case level == sandbox.Off:
		found.Warning = true
		found.Next = "Take the sandbox block out of agent.hcl, and TOOLHOST_SANDBOX out of the environment, if that is not meant."
	case level == sandbox.Docker:
		verdict := sandbox.DetectDocker(ctx)
		found.OK = verdict.Works
		if !verdict.Works {
			found.Detail, found.Next = "docker: "+verdict.Reason,
				"Commands are refused until it works; or choose another level in agent.hcl."
		}
	case level == sandbox.Auto && report.Strongest != "":
		found.OK, found.Detail = true, string(report.Strongest)+": "+holds
		if why := report.Full; !why.Works && report.Around == "" {
			found.Next = strings.TrimSpace(found.Next + " " + fullRemedy(why))
		}
	case level == sandbox.Full && report.Full.Works, level == sandbox.Landlock && report.Landlock.Works:
		found.OK = true
	case level == sandbox.Full && report.Landlock.Works:
		found.Detail = "commands, tasks and plugins are refused: agent.hcl asks for level full, which does not work here: " +
			report.Full.Reason
		found.Next = fullRemedy(report.Full) +
			` Level landlock works here: sandbox { level = "auto" } takes the strongest that does.`
	default:
		found.Detail = "commands, tasks and plugins are refused, because none works here: full: " + report.Full.Reason +
			"; landlock: " + report.Landlock.Reason
		found.Next = "To run them unconfined all the same, set TOOLHOST_SANDBOX=off for toolhost, or sandbox { " +
			"level = \"off\" } in an approved agent.hcl."
	}
	findings := []finding{found}
	if report.Around != "" {
		findings = append(findings, aroundFinding(report))
	}
	return findings
}

// aroundFinding reports the sandbox that toolhost itself was started in.
func aroundFinding(report sandbox.Report) finding {
	f := finding{Check: "sandbox around", OK: true,
		Detail: "toolhost itself runs in " + report.Around.Name() + ", which holds for all that it starts, too"}
	if !report.Full.Works {
		f.Next = "Level full does not work: " + report.Full.Reason + "."
	}
	return f
}

// fullRemedy says why level full does not work and what would have it work.
func fullRemedy(full sandbox.Verdict) string {
	text := "Level full does not work here: " + full.Reason + "."
	if full.Remedy != "" {
		text += " To have it, " + full.Remedy + "."
	}
	return text
}

// stateFindings reports what keeps toolhost from writing here: a workspace
// that is read-only or full, and state that cannot be read.
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
		{"undo", func() error {
			_, err := p.Undo.Calls(ctx, undo.Filter{})
			return err
		}},
		{"record", func() error {
			_, err := p.Recorder.Sessions(ctx)
			return err
		}},
	} {
		if err := tool.AsError(check.read()); err != nil {
			findings = append(findings,
				finding{Check: check.name, Detail: show.Text(indented(err.Message)), Next: err.Suggestion})
		}
	}
	return findings
}

func notCovered(gaps []string) string {
	if len(gaps) == 0 {
		return ""
	}
	return "Not covered: " + strings.Join(gaps, " ")
}

func lookFor(name, purpose, avoid string) finding {
	path, err := proc.LookPath(name, avoid)
	if err != nil {
		return finding{Check: name, Warning: true, Detail: "is missing; it is needed for " + purpose,
			Next: "Install it if you want that."}
	}
	return finding{Check: name, OK: true, Detail: path}
}
