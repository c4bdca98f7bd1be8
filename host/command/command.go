// Package command makes tools of programs: it runs the argument list that an
// argv.Spec makes of a call, without a shell, inside the workspace.
package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// DefaultTimeout bounds a command that names no timeout.
const DefaultTimeout = 2 * time.Minute

// Deps are what command tools work with.
type Deps struct {
	Workspace *workspace.Workspace
	// Secrets are values that a command's output is not to show, not in the
	// file that keeps the whole of it either.
	Secrets []string
	// OutputCap is how many bytes of each stream are shown. Zero is
	// proc.DefaultCap.
	OutputCap int
	// Limit bounds how many processes run at one time. Nil is no bound.
	Limit *proc.Limit
	// Prepare confines a process before it starts, by what the spec grants.
	// It returns what the result's metadata says of it. Nil confines nothing.
	Prepare func(cmd *exec.Cmd, access argv.Access) (metadata map[string]any, err error)
}

// New makes the tool that a spec declares. The error is a *tool.Error.
func New(spec argv.Spec, deps Deps) (tool.Tool, error) {
	if (spec.Passthrough == nil) == (spec.Command == nil) {
		return nil, tool.Errorf(tool.InvalidArgument, "the tool %q needs either a passthrough or a command block (%s)", spec.Name, spec.Pos).
			Suggest("Give it exactly one of them.")
	}
	c := &command{spec: spec, deps: deps}
	c.definition = sync.OnceValue(c.define)
	return c, nil
}

// command is a tool that runs a program.
type command struct {
	spec       argv.Spec
	deps       Deps
	definition func() *tool.Definition
	program    atomic.Pointer[string] // once it has been found
}

// Definition implements tool.Tool.
func (c *command) Definition() *tool.Definition { return c.definition() }

func (c *command) define() *tool.Definition {
	def := &tool.Definition{
		Name:        c.spec.Name,
		Title:       c.spec.Title,
		Description: withReturns(c.spec),
		Category:    "command",
		Parameters:  c.spec.Schema(),
		Risk:        c.spec.Risk,
		Permissions: c.spec.Permissions,
		Timeout:     c.timeout() + 10*time.Second, // the process ends first, and its output is kept
	}
	if !def.Risk.Valid() {
		def.Risk = tool.Dangerous
	}
	if len(def.Permissions) == 0 {
		def.Permissions = []tool.Permission{tool.ShellExec}
	}
	for _, e := range c.spec.Examples {
		def.Examples = append(def.Examples, tool.Example{Description: e.Description, Params: exampleParams(e)})
	}
	return def
}

// withReturns gives a description its Returns clause where it has none.
func withReturns(spec argv.Spec) string {
	description := strings.TrimSpace(spec.Description)
	if strings.Contains(description, "Returns:") {
		return description
	}
	if description != "" && !strings.HasSuffix(description, ".") {
		description += "."
	}
	return strings.TrimSpace(description + " Returns: what the program prints.")
}

func exampleParams(e argv.Example) json.RawMessage {
	if e.Params != nil {
		return e.Params
	}
	return tool.MustMarshal(map[string]string{"args": e.Args})
}

func (c *command) timeout() time.Duration {
	if t := c.spec.Timeout(); t > 0 {
		return t
	}
	return DefaultTimeout
}

// programName is the program as the spec names it.
func (c *command) programName() string {
	if c.spec.Passthrough != nil {
		return c.spec.Passthrough.Command
	}
	if len(c.spec.Command.Argv) == 0 {
		return ""
	}
	return c.spec.Command.Argv[0].Literal
}

// lookUp finds the program. One that is missing may be installed later.
func (c *command) lookUp() (string, error) {
	if found := c.program.Load(); found != nil {
		return *found, nil
	}
	path, err := proc.LookPath(c.programName(), c.deps.Workspace.Root())
	if err == nil {
		c.program.Store(&path)
	}
	return path, err
}

// resolve makes the argument list of a call and checks it.
func (c *command) resolve(ctx context.Context, call *tool.Call) (*argv.Run, error) {
	var params map[string]any
	dec := json.NewDecoder(strings.NewReader(string(call.Params)))
	dec.UseNumber()
	if err := dec.Decode(&params); err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "cannot read the parameters of %s: %w", call.Tool, err).
			Suggest("Give a JSON object.")
	}
	return c.spec.Resolve(params, Paths(ctx, c.deps.Workspace))
}

// Plan implements tool.Planner: the command line, and the files it names for
// writing.
func (c *command) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	run, err := c.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	return &tool.Plan{FilesAffected: c.affected(run), Preview: "$ " + commandLine(run.Argv) + "\n"}, nil
}

// CommandLine implements tool.Commander.
func (c *command) CommandLine(ctx context.Context, call *tool.Call) ([]string, error) {
	run, err := c.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	return run.Argv, nil
}

// affected are the paths that a run names for writing and removing, relative
// to the workspace, sorted.
func (c *command) affected(run *argv.Run) []string {
	var files []string
	for _, file := range slices.Concat(run.Writes, run.Removes) {
		if rel, err := c.deps.Workspace.Rel(file); err == nil {
			file = rel
		}
		files = append(files, file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// commandLine writes an argument list as one would type it.
func commandLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\|&;<>()$`*?[]{}#~!") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Call implements tool.Tool.
func (c *command) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	run, err := c.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	path, err := c.lookUp()
	if err != nil {
		return nil, err
	}
	var metadata map[string]any
	process := proc.Command{
		Argv:      append([]string{path}, run.Argv[1:]...),
		Name:      run.Argv[0],
		Dir:       c.deps.Workspace.Root(),
		Env:       proc.Environ(run.Env),
		Stdin:     run.Stdin,
		Timeout:   c.timeout(),
		Cap:       c.deps.OutputCap,
		Secrets:   c.deps.Secrets,
		Limit:     c.deps.Limit,
		SpillName: fmt.Sprintf("tool_step_%04d", call.Step),
		OnLine:    progress(ctx, call),
	}
	if call.ArtifactDir != "" {
		process.SpillDir = filepath.Join(call.ArtifactDir, "logs")
		if rel, err := filepath.Rel(process.Dir, process.SpillDir); err == nil && filepath.IsLocal(rel) {
			process.SpillRoot = process.Dir // no planted link leads the file out
		}
	}
	if c.deps.Prepare != nil {
		process.Prepare = func(cmd *exec.Cmd) (err error) {
			metadata, err = c.deps.Prepare(cmd, c.spec.Access)
			return err
		}
	}
	ended, err := proc.Run(ctx, process)
	if err != nil {
		return nil, err
	}
	result, err := c.report(run, ended)
	if result != nil {
		result.Metadata = metadata
	}
	return result, err
}

// progressAfter is when a command begins to count as a long one.
const progressAfter = time.Second

// progress passes on the lines that a long command prints.
func progress(ctx context.Context, call *tool.Call) func(stream, line string) {
	started := time.Now()
	return func(_, line string) {
		if elapsed := time.Since(started); elapsed > progressAfter {
			call.Progress(ctx, tool.Progress{Done: elapsed.Seconds(), Message: line})
		}
	}
}
