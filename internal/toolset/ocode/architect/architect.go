// Package architect describes the architecture of a source tree: languages, directories, imports
// and their cycles, sizes. The program toolhost-architect does the work: its libraries would slow
// down other starts, and parsing untrusted files is better confined.
package architect

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/installation"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// BinaryName is the name of the child program, without ".exe".
const BinaryName = "toolhost-architect"

// DefaultTimeout is the time limit without Options.Timeout.
const DefaultTimeout = 2 * time.Minute

const replyLimit = 32 << 20 // bytes

// Options configure an Analyzer. The zero value is a good default.
type Options struct {
	// Binary is the child program. Empty looks beside the running program, then on PATH.
	Binary string
	// Prepare confines the child, which only reads. May be nil.
	Prepare func(*exec.Cmd) error
	// Allow are absolute paths of the workspace's further directories.
	Allow []string
	// Timeout limits an analysis. Zero means DefaultTimeout.
	Timeout time.Duration
}

// Analyzer analyzes directories of a workspace.
type Analyzer struct {
	workspace *workspace.Workspace
	options   Options
}

// New returns an Analyzer.
func New(ws *workspace.Workspace, options Options) *Analyzer {
	if options.Timeout <= 0 {
		options.Timeout = DefaultTimeout
	}
	return &Analyzer{workspace: ws, options: options}
}

// Analyze runs r; it fills in Root and Allow. Errors: the workspace's for the path,
// not_a_directory, timeout, cancelled, and unavailable without the child program.
func (a *Analyzer) Analyze(ctx context.Context, r Request) (*Reply, error) {
	if err := a.check(r.Path); err != nil {
		return nil, err
	}
	binary := a.options.Binary
	if binary == "" {
		found, err := installation.Architect.Find(a.workspace.Root())
		if err != nil {
			return nil, err
		}
		binary = found
	}
	r.Root, r.Allow = a.workspace.Root(), a.options.Allow
	ended, err := proc.Run(ctx, proc.Command{
		Argv: []string{binary}, Dir: r.Root, Stdin: tool.MustMarshal(r),
		Env:     append(proc.Environ(nil), "GOGC=3000"), // a third of that while its packages start
		Timeout: a.options.Timeout, Cap: replyLimit, Prepare: a.options.Prepare,
	})
	if err != nil {
		return nil, err
	}
	return a.reply(r, ended)
}

func (a *Analyzer) check(path string) error {
	info, err := a.workspace.Stat(path)
	if err == nil && !info.IsDir() {
		err = tool.Errorf(tool.NotADirectory, "%s is a file; a project is a directory", path).
			Suggest("Give the directory that it lies in.")
	}
	return err
}

func (a *Analyzer) reply(r Request, ended *proc.Result) (*Reply, error) {
	switch {
	case ended.TimedOut:
		return nil, tool.Errorf(tool.Timeout, "the analysis of %s took longer than %s", r.Path, a.options.Timeout).
			Suggest("Analyze one of its directories.")
	case ended.Cancelled:
		return nil, tool.Errorf(tool.Cancelled, "the analysis of %s was cancelled", r.Path)
	}
	reply := new(Reply)
	if err := json.Unmarshal([]byte(ended.Stdout.String()), reply); err != nil || ended.ExitCode != 0 &&
		reply.Error == nil {
		return nil,
			tool.Errorf(tool.Internal, "%s ended with exit code %d and no report: %s", BinaryName, ended.ExitCode,
				strings.TrimSpace(ended.Stderr.String())).
				Suggest("Check that %s is of the same version as toolhost.", BinaryName)
	}
	if f := reply.Error; f != nil {
		return nil, tool.Errorf(tool.Code(f.Code), "%s", f.Message).Suggest("%s", f.Suggestion)
	}
	return reply, nil
}
