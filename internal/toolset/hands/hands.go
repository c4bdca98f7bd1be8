// Package hands is shared by the toolsets of model vendors, which return plain text in the
// vendor's words, with a next step after errors: their plugin, the programs that run on between
// calls, and changes of files.
package hands

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/session"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Deps are the tools' dependencies. Without a Workspace tools can only be described.
type Deps struct {
	Workspace *workspace.Workspace
	// Trees are further directories that commands may change.
	Trees []string
	// Confine is how commands are confined.
	Confine sandbox.Settings
	// Tasks are background tasks, Sessions programs that calls interact with.
	Tasks    *background.Store
	Sessions *session.Sessions
	// WebAllow are hosts that may be fetched from besides public ones.
	WebAllow []string

	shells *shells
}

// Open fills in the rest of d.
func (d Deps) Open() Deps {
	if d.Tasks == nil {
		d.Tasks = background.Open("", background.Options{})
	}
	d.Sessions = session.New(d.Tasks, session.Options{})
	d.shells = &shells{of: make(map[string]*session.Shell)}
	return d
}

// Outcome is the result of a call.
type Outcome struct {
	kit.Outcome
	Text string
	// Image is shown instead of the text.
	Image *tool.Content
}

// Say returns an outcome with a text.
func Say(text string) *Outcome { return &Outcome{Text: text} }

// Contract returns the toolsets' contract.
func Contract(definitions map[string]*tool.Definition) *kit.Contract[Deps, *Outcome] {
	return &kit.Contract[Deps, *Outcome]{
		Definitions: definitions,
		Workspace:   func(d *Deps) **workspace.Workspace { return &d.Workspace },
		Success:     func(_ kit.Call, o *Outcome) *tool.Result { return o.result() },
		Failure:     func(_ kit.Call, o *Outcome, err error) *tool.Result { return Failed(o, err) },
		Render:      func(_ kit.Call, err *tool.Error) *tool.Result { return Failed(nil, err) },
	}
}

func (o *Outcome) result() *tool.Result {
	r := tool.Text(strings.ToValidUTF8(o.Text, "\uFFFD"))
	if o.Image != nil {
		r.Contents = []tool.Content{*o.Image}
	}
	r = o.On(r)
	r.FilesAffected = o.Files
	return r
}

// Failed returns the result of a failed call: the error's own text, and the next step on a line after it.
func Failed(o *Outcome, err error) *tool.Result {
	e := tool.AsError(err)
	text := e.Message
	if e.Suggestion != "" {
		text += "\n" + e.Suggestion
	}
	r := tool.Text(strings.ToValidUTF8(text, "\uFFFD"))
	if o != nil {
		r = o.On(r)
		r.FilesAffected = o.Files
	}
	r.Failed = e
	return r
}

// Plugin returns a toolset as a plugin. tools makes its tools.
func Plugin(name, version string, tools func(Deps) []tool.Tool) sdk.Plugin {
	return sdk.Plugin{
		Name: name, Version: version, Tools: tools(Deps{}.Open()),
		ConfigSchema: toolspec.Fill(configSchema, `"$confine"`, sandbox.SettingsSchema),
		Configure: func(_ context.Context, env sdk.Env) ([]tool.Tool, error) {
			var c struct {
				Confine  sandbox.Settings `json:"confine"`
				WebAllow []string         `json:"web_allow"`
			}
			if err := env.Decode(&c); err != nil {
				return nil, err
			}
			ws, err := kit.OpenWorkspace(env.Workspace, c.Confine)
			if err != nil {
				return nil, err
			}
			return tools(Deps{
				Workspace: ws, Trees: env.Workspace.Allow, Confine: c.Confine, Tasks: kit.Tasks(c.Confine),
				WebAllow: c.WebAllow,
			}.Open()), nil
		},
		RenderError: func(_ *tool.Call, err *tool.Error) *tool.Result { return Failed(nil, err) },
	}
}

var configSchema = json.RawMessage(`{"type":"object","properties":{"confine":"$confine","web_allow":{"type":"array",` +
	`"items":{"type":"string"},"description":"Hosts that may be fetched from besides public ones; the host fills it in."}},` +
	`"additionalProperties":false}`)

// Memories opens the state directory for memories, which commands cannot reach.
func (d Deps) Memories() (*workspace.Workspace, error) {
	if d.Confine.State == "" {
		return nil, tool.Errorf(tool.Unavailable, "there is no place for memories: toolhost has no directory for its state").
			Suggest("toolhost doctor tells the user what is wrong with it.")
	}
	dir := filepath.Join(d.Confine.State, "memories")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, tool.Errorf(tool.Unavailable, "there is no place for memories: %w", err).
			Suggest("See that the directory can be written.")
	}
	return workspace.Open(dir, workspace.Options{Symlinks: workspace.Block})
}

// Directory returns where a command runs: the workspace, or a directory in it.
func (d Deps) Directory(name string) (string, error) {
	if name == "" {
		return d.Workspace.Root(), nil
	}
	info, err := d.Workspace.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", tool.Errorf(tool.NotADirectory, "%s is not a directory", name).Suggest("Name a directory.")
	}
	return d.Workspace.Check(name, workspace.Read)
}

// Bash returns the argument list that runs a command line in a shell.
func (d Deps) Bash(command string, login bool) []string {
	argv := kit.Shell(d.Workspace.Root(), "bash")
	if login {
		argv = append(argv[:1:1], "-lc")
	}
	return append(argv, kit.ShellArgument(command))
}

// titleLimit limits what listings show of a command, in bytes.
const titleLimit = 1 << 10

// Task returns the specification of a background task.
func (d Deps) Task(call *tool.Call, title, dir string, argv []string) background.Spec {
	policy := d.Confine.Policy(d.Workspace.Root(), d.Trees...)
	return background.Spec{
		Session: call.Session, Call: call.RequestID, Kind: call.Tool, Title: title[:min(len(title), titleLimit)], Argv: argv, Dir: dir,
		Env: proc.Environ(nil), Confine: &policy,
	}
}

// Run runs a command line and waits for it.
func (d Deps) Run(ctx context.Context, call *tool.Call, out *Outcome, c proc.Command) (*proc.Result, error) {
	c.Env = proc.Environ(nil)
	c.Prepare = out.Confining(d.Confine.ConfineTelling(d.Workspace.Root(), d.Trees...))
	c.Spill(d.Workspace.Root(), call.ArtifactDir, call.Step)
	ended, err := proc.Run(ctx, c)
	if err == nil {
		out.Ran(ended)
	}
	return ended, err
}

// shells has one shell for each session of the host.
type shells struct {
	mu sync.Mutex
	of map[string]*session.Shell
}

// Shell returns the session's shell, which keeps its directory and variables.
func (d Deps) Shell(call *tool.Call) *session.Shell {
	d.shells.mu.Lock()
	defer d.shells.mu.Unlock()
	sh := d.shells.of[call.Session]
	if sh == nil {
		first := *call
		sh = session.NewShell(d.Sessions, func() background.Spec {
			bash := kit.Shell(d.Workspace.Root(), "bash")[:1]
			if filepath.Base(bash[0]) == "bash" {
				bash = append(bash, "--noprofile", "--norc")
			}
			spec := d.Task(&first, "the session's shell", d.Workspace.Root(), bash)
			spec.Env = proc.Environ(map[string]string{"TERM": "dumb"})
			return spec
		})
		d.shells.of[call.Session] = sh
	}
	return sh
}

// CheckCommand refuses an invalid command line.
func CheckCommand(command string) error {
	if strings.TrimSpace(command) == "" || strings.ContainsRune(command, 0) {
		return tool.Errorf(tool.InvalidArgument, "the command is empty, or contains a NUL byte").
			Suggest("Give a command line.")
	}
	return nil
}

// Milliseconds converts a time limit: standard for 0, and at most most.
func Milliseconds(given, standard, most int64) time.Duration {
	if given <= 0 {
		given = standard
	}
	return time.Duration(min(given, most)) * time.Millisecond
}
