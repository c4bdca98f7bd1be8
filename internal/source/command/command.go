// Package command makes tools from programs: it runs the argument list that an argv.Spec makes of a call, without
// a shell, inside the workspace.
package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// DefaultTimeout bounds a command without its own timeout or Deps.Timeout.
const DefaultTimeout = 2 * time.Minute

// Deps are the dependencies of command tools.
type Deps struct {
	Workspace *workspace.Workspace
	// Secrets are redacted from a command's output, also in the file with the whole of it.
	Secrets []string
	// OutputCap bounds the shown bytes of each stream. Zero means proc.DefaultCap.
	OutputCap int
	// Timeout bounds a command without its own. Zero means DefaultTimeout.
	Timeout time.Duration
	// Limit bounds concurrent processes. May be nil.
	Limit *proc.Limit
	// Prepare confines a process before it starts, by the spec's grants, and returns metadata for the result. May
	// be nil.
	Prepare func(cmd *exec.Cmd, access argv.Access) (metadata map[string]any, err error)
	// Denied explains a failure by confinement, from the process's output, and what in the block would grant
	// access. May be nil.
	Denied func(block string, access argv.Access, printed string) string
}

// New returns the tool of a spec. The error is a *tool.Error.
func New(spec argv.Spec, deps Deps) (tool.Tool, error) {
	if (spec.Passthrough == nil) == (spec.Command == nil) {
		return nil, tool.Errorf(tool.InvalidArgument, "the tool %q needs either a passthrough or a command block (%s)",
			spec.Name, spec.Pos).
			Suggest("Give it exactly one of them.")
	}
	c := &command{spec: spec, deps: deps}
	c.definition = sync.OnceValue(c.define)
	return c, nil
}

type command struct {
	spec       argv.Spec
	deps       Deps
	definition func() *tool.Definition
	program    atomic.Pointer[string] // once found
}

// InView reports whether only processes make a call's changes, if any. Files in its results come from the
// workspace, not from a view.
func (c *command) InView() bool {
	reads := slices.ContainsFunc(c.spec.Outputs, func(o argv.Content) bool { return o.File != nil })
	return c.Definition().Risk != tool.ReadOnly && !reads
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
		Returns:     c.spec.Returns,
		Risk:        c.spec.Risk,
		Permissions: c.spec.Permissions,
		Timeout:     c.timeout(),
		Grace:       10 * time.Second,
		AsTask:      c.spec.AsTask,
	}
	if !def.Risk.Valid() {
		def.Risk = tool.Dangerous
	}
	if len(def.Permissions) == 0 {
		def.Permissions = []tool.Permission{tool.ShellExec}
	}
	for _, e := range c.spec.Examples {
		params := e.Params
		if params == nil {
			params = tool.MustMarshal(map[string]string{"args": e.Args})
		}
		def.Examples = append(def.Examples, tool.Example{Description: e.Description, Params: params})
	}
	return def
}

// withReturns adds a Returns clause to a description without one.
func withReturns(spec argv.Spec) string {
	description := strings.TrimSpace(spec.Description)
	if strings.Contains(description, "Returns:") {
		return description
	}
	if description != "" && !strings.HasSuffix(description, ".") {
		description += "."
	}
	return strings.TrimSpace(description + " Returns: " + returns(spec.Outputs) + ".")
}

func returns(outputs []argv.Content) string {
	if len(outputs) == 0 {
		return "what the program prints"
	}
	kinds := make([]string, len(outputs))
	for i, o := range outputs {
		kinds[i] = map[tool.ContentKind]string{tool.KindImage: "an image", tool.KindAudio: "a sound",
			tool.KindResource: "a resource"}[o.Kind]
		if kinds[i] == "" {
			kinds[i] = "text"
		}
		if o.JSON {
			kinds[i] = "JSON"
		}
	}
	return strings.Join(kinds, ", ")
}

func (c *command) timeout() time.Duration {
	return cmp.Or(max(c.spec.Timeout(), 0), c.deps.Timeout, DefaultTimeout)
}

func (c *command) programName() string {
	if c.spec.Passthrough != nil {
		return c.spec.Passthrough.Command
	}
	if len(c.spec.Command.Argv) == 0 {
		return ""
	}
	return c.spec.Command.Argv[0].Literal
}

// lookUp finds the program. A miss is not cached: the program may be installed later.
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

// decode decodes a call's parameters. Numbers keep their digits.
func decode(call *tool.Call) (map[string]any, error) {
	params := make(map[string]any)
	dec := json.NewDecoder(strings.NewReader(string(call.Params)))
	dec.UseNumber()
	if err := dec.Decode(&params); err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "cannot read the parameters of %s: %w", call.Tool, err).
			Suggest("Give a JSON object.")
	}
	return params, nil
}

// resolve makes and checks a call's argument list. The spec's questions are asked first, so that a decision
// covers all of it.
func (c *command) resolve(ctx context.Context, call *tool.Call) (*argv.Run, map[string]any, error) {
	params, err := decode(call)
	if err != nil {
		return nil, nil, err
	}
	if err := Answers(ctx, call, c.spec.Asks, params); err != nil {
		return nil, nil, err
	}
	run, err := c.spec.Resolve(params, Paths(ctx, c.deps.Workspace))
	return run, params, err
}

// Plan implements tool.Planner: the command line, and the files it names for writing.
func (c *command) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	run, _, err := c.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	return &tool.Plan{FilesAffected: c.affected(run), Preview: c.preview(run)}, nil
}

// preview shows a run completely.
func (c *command) preview(run *argv.Run) string {
	hidden := func(text string) string { return text }
	if secrets := c.secrets(); len(secrets) > 0 {
		hidden = strings.NewReplacer(secrets...).Replace // before their characters are escaped
	}
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n", show.Argv(hiddenIn(run.Argv, hidden)))
	if path, err := c.lookUp(); err == nil && path != run.Argv[0] {
		fmt.Fprintf(&b, "runs %s\n", show.Word(path))
	}
	for _, name := range slices.Sorted(maps.Keys(run.Env)) {
		fmt.Fprintf(&b, "with %s=%s\n", show.Word(name), show.Word(hidden(run.Env[name])))
	}
	if len(run.Stdin) > 0 {
		text := hidden(string(run.Stdin))
		fmt.Fprintf(&b, "reads %d bytes:\n%s", len(run.Stdin), show.Block(text, show.Width))
	}
	return b.String()
}

// CommandLine implements tool.Commander.
func (c *command) CommandLine(ctx context.Context, call *tool.Call) ([]string, error) {
	run, _, err := c.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	return run.Argv, nil
}

// Answers implements tool.Answerer.
func (c *command) Answers(ctx context.Context, call *tool.Call) (map[string]any, error) {
	if len(c.spec.Asks) == 0 {
		return nil, nil
	}
	answers := make(map[string]any)
	values, err := decode(call)
	if err == nil {
		err = Answers(ctx, call, c.spec.Asks, values)
	}
	for name, value := range values {
		if strings.HasPrefix(name, "ask.") {
			answers[name] = value
		}
	}
	return answers, err
}

// affected returns the paths that a run names for writing and removing, relative to the workspace,
// sorted.
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

func hiddenIn(words []string, hidden func(string) string) []string {
	shown := make([]string, len(words))
	for i, word := range words {
		shown[i] = hidden(word)
	}
	return shown
}

// secrets returns the secrets and their replacements, longest first.
func (c *command) secrets() (pairs []string) {
	for _, secret := range slices.SortedFunc(slices.Values(c.deps.Secrets),
		func(a, b string) int { return len(b) - len(a) }) {
		if secret != "" {
			pairs = append(pairs, secret, "[redacted]")
		}
	}
	return pairs
}

// Call implements tool.Tool.
func (c *command) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	run, values, err := c.resolve(ctx, call)
	if err != nil {
		return nil, err
	}
	ended, metadata, err := c.start(ctx, call, run)
	if err != nil {
		return nil, err
	}
	result, err := c.report(ctx, run, values, ended)
	if result != nil {
		result.Metadata = metadata
	}
	return result, err
}

func (c *command) start(ctx context.Context, call *tool.Call, run *argv.Run) (ended *proc.Result,
	metadata map[string]any, err error) {
	path, err := c.lookUp()
	if err != nil {
		return nil, nil, err
	}
	reports := &reporter{ctx: ctx, call: call, prefix: c.spec.Report(), started: time.Now()}
	process := proc.Command{
		Argv:    append([]string{path}, run.Argv[1:]...),
		Name:    run.Argv[0],
		Dir:     c.deps.Workspace.Root(),
		Env:     proc.Environ(run.Env),
		Stdin:   run.Stdin,
		Timeout: c.timeout(),
		Cap:     c.deps.OutputCap,
		Secrets: c.deps.Secrets,
		Limit:   c.deps.Limit,
		OnLine:  reports.line,
	}
	process.Spill(process.Dir, call.ArtifactDir, call.Step)
	if c.deps.Prepare != nil {
		process.Prepare = func(cmd *exec.Cmd) (err error) {
			metadata, err = c.deps.Prepare(cmd, c.spec.Access)
			return err
		}
	}
	if len(c.spec.Outputs) > 0 {
		process.Cap = maxPiece
	}
	ended, err = proc.Run(ctx, process)
	if err == nil {
		ended.Stderr.Head = withoutReports(ended.Stderr.Head, reports.prefix)
		ended.Stderr.Tail = withoutReports(ended.Stderr.Tail, reports.prefix)
	}
	return ended, metadata, err
}

// progressAfter is when a command counts as long.
const progressAfter = time.Second
