package kit

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// OpenWorkspace opens the workspace that the host gave the plugin: the directory
// that the host has opened, without what commands find empty. What changes there
// is kept in the state that the host names.
func OpenWorkspace(w sdk.Workspace, confine sandbox.Settings) (*workspace.Workspace, error) {
	options := workspace.Options{
		Allow: w.Allow, Protect: w.Protect, Identity: confine.Identity,
		Hidden: confine.Hidden(append([]string{w.Root}, w.Allow...)...),
	}
	if w.Symlinks == "block" {
		options.Symlinks = workspace.Block
	}
	ws, err := undo.OpenWorkspace(kept(confine, undo.DirName), w.Root, options)
	if err == nil {
		watch(ws, kept(confine, undo.DirName), w.Allow, confine.Ignore)
	}
	return ws, err
}

// Tasks are the background tasks of a workspace, in the state that the host names.
func Tasks(confine sandbox.Settings) *background.Store {
	return background.Open(kept(confine, background.DirName), background.Options{})
}

// kept is a directory in the state that the host names, "" where it names none.
func kept(confine sandbox.Settings, name string) string {
	if confine.State == "" {
		return ""
	}
	return filepath.Join(confine.State, name)
}

// NoWorkspace is the error of a tool that was made only to be described.
func NoWorkspace(name string) *tool.Error {
	return tool.Errorf(tool.Unavailable, "%s has no workspace to work in", name).Suggest("Call it through toolhost.")
}

// Decode checks the parameters of a call of the tool of that name, which a
// host has done already unless the tool is called directly, and reads them.
// What violates the schema is a *tool.Error of code invalid_argument.
func Decode(name string, accepts *schema.Schema, given json.RawMessage, params any) error {
	raw, _, violations := accepts.Decode(given)
	if len(violations) > 0 {
		return invalid(name, violations)
	}
	if err := json.Unmarshal(raw, params); err != nil {
		return fmt.Errorf("the parameters of %s: %w", name, err)
	}
	return nil
}

func invalid(name string, violations []schema.Violation) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "Invalid parameters for %s: %s", name, schema.Join(violations)).
		Suggest("Correct every parameter named and call again.").
		With("violations", violations)
}

// Worded gives any error a message that begins with a capital, in valid UTF-8,
// and a next step, as the contracts' own errors have. A path that the message
// begins with stays as it is.
func Worded(err error) *tool.Error {
	e := *tool.AsError(err)
	if named, _ := e.Details["path"].(string); named == "" || !strings.HasPrefix(e.Message, named+" ") {
		e.Message = Capital(e.Message)
	}
	e.Message = strings.ToValidUTF8(e.Message, "\uFFFD")
	if e.Suggestion == "" {
		e.Suggestion = "Look at the parameters and try again."
	}
	return &e
}

// Capital makes the first letter a capital where the first word is plain
// lower case, and so no name of a file or program with a dot or slash in it.
func Capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Listed gives the form in which Walk names what is below a directory: its real
// path. advice is for who names a file.
func Listed(ws *workspace.Workspace, dir, advice string) (string, error) {
	info, err := ws.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", tool.Errorf(tool.NotADirectory, "%s is not a directory", dir).Suggest("%s", advice).
			With("path", dir)
	}
	real, err := ws.Check(dir, workspace.Read)
	if err != nil {
		return "", err
	}
	return ws.Rel(real)
}

// OwnDirs are where toolhost puts what results name, which is no part of what a
// workspace holds.
func OwnDirs() []string { return []string{".agent/runs", ".agent/cache"} }
