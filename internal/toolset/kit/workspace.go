package kit

import (
	"encoding/json"
	"fmt"
	"path"
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

// OpenWorkspace opens the plugin's workspace in the host's open directory, without what is
// hidden from commands. Changes are kept in the host's state.
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

// Tasks returns the background tasks of a workspace, kept in the host's state.
func Tasks(confine sandbox.Settings) *background.Store {
	return background.Open(kept(confine, background.DirName), background.Options{})
}

// kept returns a directory in the host's state, "" without one.
func kept(confine sandbox.Settings, name string) string {
	if confine.State == "" {
		return ""
	}
	return filepath.Join(confine.State, name)
}

// NoWorkspace returns the error of a tool that can only be described.
func NoWorkspace(name string) *tool.Error {
	return tool.Errorf(tool.Unavailable, "%s has no workspace to work in", name).Suggest("Call it through toolhost.")
}

// Decode checks and decodes the parameters of a call, which a host has checked unless the tool is called directly. A
// violation is a *tool.Error of code invalid_argument.
func Decode(name string, accepts *schema.Schema, given json.RawMessage, params any) error {
	raw, _, violations := accepts.Decode(given)
	if len(violations) > 0 {
		return tool.Errorf(tool.InvalidArgument, "Invalid parameters for %s: %s", name, schema.Join(violations)).
			Suggest("Correct every parameter named and call again.").
			With("violations", violations)
	}
	if err := json.Unmarshal(raw, params); err != nil {
		return fmt.Errorf("the parameters of %s: %w", name, err)
	}
	return nil
}

// Worded returns an error whose message is valid UTF-8 and starts with a capital, with a next
// step, as in the contracts. A leading path is not changed.
func Worded(err error) *tool.Error {
	e := *tool.AsError(err)
	e.Message = strings.ToValidUTF8(Capital(&e), "\uFFFD")
	if e.Suggestion == "" {
		e.Suggestion = "Look at the parameters and try again."
	}
	return &e
}

// Capital returns an error's message with a first word in plain lower case capitalized. A name stays: the path that the
// error is about, and one with a dot or slash.
func Capital(e *tool.Error) string {
	s := e.Message
	word, _, _ := strings.Cut(s, " ")
	if named, _ := e.Details["path"].(string); named != "" && strings.HasPrefix(s, named+" ") {
		return s
	}
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Listed returns a directory's real path, as Walk has it. advice is for a path that is a file.
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

// OwnDirs returns toolhost's own directories with files that results name.
func OwnDirs() []string { return []string{".agent/runs", ".agent/cache"} }

// EscapePattern quotes a path for a pattern.
func EscapePattern(p string) string {
	var b strings.Builder
	for _, c := range path.Clean(p) {
		if strings.ContainsRune(`*?[]{}\!`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
