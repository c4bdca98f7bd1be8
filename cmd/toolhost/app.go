package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/text/nearest"
	"github.com/toolhost/toolhost/internal/toolset"
)

// app is one run of the program: its streams and the flags of all subcommands.
type app struct {
	in        io.Reader
	out, err  io.Writer
	flags     globalFlags
	painter   painter
	logger    *slog.Logger
	telemetry *telemetry.Relay // or nil
	secrets   *project.LogSecrets
	patience  time.Duration // bounds the wait for MCP servers' tools; zero starts none
	standing  *atomic.Pointer[agentfile.Standing]
	firstList time.Duration       // bounds the first list's wait for them; zero means the default
	reported  *config.Diagnostics // where report puts mistakes; nil shows them

	serving bool // runs a server
	args    []string
}

type globalFlags struct {
	config    string
	workspace string
	toolset   string
	artifacts string
	vars      []string
	trust     bool
	logLevel  string
	color     string
}

func (a *app) execute(ctx context.Context, args []string) int {
	out := &sink{Writer: onScreen(a.out)}
	a.out, a.err = out, onScreen(a.err)
	defer func() { flush(out.Writer); flush(a.err) }()
	a.args = args
	root := a.root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	explainUsage(root)
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	a.telemetry.Close(ctx)
	if err == nil {
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	told := a.tellsJSON(ran, args) && a.printJSONError(err)
	if exit, ok := errors.AsType[*exitError](err); ok && exit.err == nil {
		return exit.code
	}
	if !told {
		a.printError(err)
	}
	_, exits := errors.AsType[*exitError](err)
	_, ofTool := errors.AsType[*tool.Error](err)
	if !exits && !ofTool && !errors.Is(err, context.Canceled) && !isIO(err) {
		return exitUsage // cobra's own errors are about usage
	}
	return codeOf(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "toolhost",
		Short: "Give an AI agent the tools of your project",
		Long: "toolhost turns a project's agent.hcl into tools that any AI agent can call: over MCP, from " +
			"the command line, or through schemas for model APIs.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.serving = c.Name() == "serve"
			return a.setUp()
		},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	f := root.PersistentFlags()
	f.StringVar(&a.flags.config, "config", "",
		"the agent.hcl to use (default: the nearest one, from here up to the repository root)")
	f.StringVar(&a.flags.workspace, "workspace", "",
		"the workspace directory (default: as agent.hcl says, else the working directory)")
	f.StringArrayVar(&a.flags.vars, "var", nil, "set a variable of agent.hcl: NAME=VALUE (repeatable)")
	f.BoolVar(&a.flags.trust, "trust", false, "use an agent.hcl that is not approved, without storing an approval")
	f.StringVar(&a.flags.logLevel, "log-level", "warn", "debug, info, warn or error; the log goes to stderr")
	f.StringVar(&a.flags.color, "color", "auto", "auto, always or never")
	completeFlag(root, "log-level", "debug", "info", "warn", "error")
	completeFlag(root, "color", "auto", "always", "never")
	a.addCommands(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), " flag: strconv.") // the rest repeats it in Go's terms
		if near := nearFlag(c, err); near != "" {
			return usagef("Did you mean --"+near+"?", "%s", text)
		}
		return usagef("See '"+c.CommandPath()+" --help'.", "%s", text)
	})
	return root
}

// nearFlag returns the flag of c that an unknown one probably means, or "".
func nearFlag(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return nearest.Name(unknown.GetSpecifiedName(), names)
}

func (a *app) setUp() error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.flags.logLevel)); err != nil {
		return usagef("Use debug, info, warn or error.", "unknown log level %q", a.flags.logLevel)
	}
	a.secrets = new(project.LogSecrets)
	a.standing = new(atomic.Pointer[agentfile.Standing])
	switch a.flags.color {
	case "auto":
		a.painter = painter(isTerminal(a.out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
	case "always":
		a.painter = true
	case "never":
		a.painter = false
	default:
		return usagef("Use auto, always or never.", "unknown --color %q", a.flags.color)
	}
	a.logger = slog.New(a.log(level))
	return nil
}

// log returns a handler: a server's has times and levels, for its operator; other commands' is for the
// user.
func (a *app) log(level slog.Level) slog.Handler {
	if a.serving {
		return slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level, ReplaceAttr: a.secrets.Attr})
	}
	return &plainLog{mu: new(sync.Mutex), out: a.err, level: level, painter: a.painter, redact: a.secrets.Attr}
}

// artifactsFlag adds --artifacts to a command that keeps or reads a record.
func (a *app) artifactsFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.flags.artifacts, "artifacts", "",
		"the directory for copies of events and for artifacts (default: .agent/runs/SESSION in the workspace)")
}

func (a *app) toolsetFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.flags.toolset, "toolset", "", toolsetHelp())
	a.completeToolset(c)
}

func toolsetHelp() string {
	return "the toolset to offer: " + strings.Join(toolset.Names(), ", ") + ", or one from agent.hcl"
}

// toolset returns the selected toolset of toolhost, the zero value if unknown.
func (a *app) toolset() toolset.Toolset {
	t, _ := toolset.Find(a.flags.toolset)
	return t
}
