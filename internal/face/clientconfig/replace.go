package clientconfig

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

// ownTools are a client's tools that toolhost replaces, and the setting that turns them off: a list of
// names, or with flags an object of false values.
type ownTools struct {
	names   []string
	path    []string
	flags   bool
	user    func(Machine) string // nil means the servers' file
	project string
}

// ownSuffix ends the name of SwitchOff's backup.
const ownSuffix = ".with-own-tools"

// claudeTools are Claude Code's names of its tools, googleTools those of Gemini CLI and its forks.
var (
	claudeTools = []string{"Bash", "Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "WebFetch"}
	googleTools = []string{"run_shell_command", "read_file", "read_many_files", "write_file", "replace", "edit", "glob",
		"grep_search", "search_file_content", "list_directory", "web_fetch"}
)

// ownToolsOf maps client IDs to their settings.
var ownToolsOf = map[string]ownTools{
	"claude-code": {names: claudeTools, path: []string{"permissions", "deny"},
		user: func(m Machine) string {
			return filepath.Join(m.from("CLAUDE_CONFIG_DIR", ".claude"), "settings.json")
		},
		project: ".claude/settings.json"},
	"gemini-cli": {names: googleTools, path: []string{"tools", "exclude"}},
	"qwen-code":  {names: googleTools, path: []string{"tools", "exclude"}},
	"crush": {names: []string{"bash", "view", "edit", "multiedit", "write", "glob", "grep", "ls", "fetch", "download"},
		path: []string{"options", "disabled_tools"}},
	"opencode": {names: []string{"bash", "read", "edit", "write", "patch", "glob", "grep", "list", "webfetch"},
		path: []string{"tools"}, flags: true},
}

// OwnTools is a client's setting that turns off its own tools.
type OwnTools struct {
	// File has the setting, Setting is its name, and Names are the tools.
	File, Setting string
	Names         []string

	how ownTools
}

// OwnTools returns the client's setting: in the project's file, or the user's if project is "". servers
// is the servers' file. Without a setting the error is a *tool.Error of code unsupported.
func (c *Client) OwnTools(m Machine, project, servers string) (*OwnTools, error) {
	how, ok := ownToolsOf[c.ID]
	if !ok {
		return nil, tool.Errorf(tool.Unsupported, "%s has no setting that switches its own tools off", c.Title).
			Suggest("Leave --replace out, and tell the agent in its instructions to use the tools of toolhost.")
	}
	o := &OwnTools{File: servers, Setting: strings.Join(how.path, "."), Names: how.names, how: how}
	if how.user != nil && project != "" {
		o.File = filepath.Join(project, filepath.FromSlash(how.project))
	} else if how.user != nil {
		o.File = how.user(m)
	}
	return o, nil
}

// off returns the file with the tools turned off.
func (o *OwnTools) off(text []byte) ([]byte, error) {
	data, err := jsonc{}.decode(text)
	if err != nil {
		return nil, err
	}
	have, there := at(data, o.how.path)
	if !o.how.flags {
		list, ok := have.([]any)
		if there && !ok {
			return nil, tool.Errorf(tool.Unsupported, "%s is not a list", o.Setting)
		}
		var names []string
		for _, item := range list {
			name, _ := item.(string)
			names = append(names, name)
		}
		all := names
		for _, name := range o.Names {
			if !slices.Contains(names, name) {
				all = append(all, name)
			}
		}
		if len(all) == len(names) {
			return text, nil
		}
		return setJSON(text, o.how.path, all)
	}
	flags, _ := have.(map[string]any)
	for _, name := range o.Names {
		if flags[name] != false && err == nil {
			text, err = setJSON(text, append(o.how.path[:len(o.how.path):len(o.how.path)], name), false)
		}
	}
	return text, err
}

// Off reports whether all the tools are off.
func (o *OwnTools) Off() bool {
	text, err := Read(o.File)
	if err != nil {
		return false
	}
	off, err := o.off(text)
	return err == nil && bytes.Equal(off, text)
}

// SwitchOff turns the tools off and keeps a backup of the file.
func (o *OwnTools) SwitchOff() error {
	text, err := Read(o.File)
	if err != nil {
		return err
	}
	off, err := o.off(text)
	if err != nil {
		return tool.Errorf(tool.Unsupported, "%s cannot be edited: %w", o.File, err).
			Suggest("Nothing was changed there. Switch off %s in %s by hand.", strings.Join(o.Names, ", "), o.Setting)
	}
	if bytes.Equal(off, text) {
		return nil
	}
	file, err := target(o.File)
	if err != nil {
		return failed("write", o.File, err)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return failed("write", o.File, err)
	}
	takeBack := func(error) {}
	if _, err := os.Stat(file + ownSuffix); err != nil { // keep the first backup
		if takeBack, err = backUpFile(file, ownSuffix, text); err != nil {
			return failed("write", o.File+ownSuffix, err)
		}
	}
	if err := atomicfile.Write(file, off, mode); err != nil {
		takeBack(err)
		return failed("write", o.File, err)
	}
	return nil
}

// SwitchOn restores the setting before SwitchOff, and reports whether there was one: the whole file
// byte for byte, if unchanged since.
func (o *OwnTools) SwitchOn() (done bool, err error) {
	file, err := target(o.File)
	if err != nil {
		return false, failed("read", o.File, err)
	}
	was, err := os.ReadFile(file + ownSuffix)
	if err != nil {
		return false, nil
	}
	is, err := Read(file)
	if err != nil {
		return false, err
	}
	on := was
	if off, err := o.off(was); err != nil || !bytes.Equal(off, is) {
		if on, err = o.on(is, was); err != nil {
			return false, tool.Errorf(tool.Unsupported, "%s cannot be edited: %w", o.File, err).
				Suggest("Switch %s on again in %s by hand.", strings.Join(o.Names, ", "), o.Setting)
		}
	}
	if len(on) == 0 {
		err = os.Remove(file)
	} else {
		mode := fs.FileMode(0o600)
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
		err = atomicfile.Write(file, on, mode)
	}
	if err != nil {
		return false, failed("write", o.File, err)
	}
	return true, os.Remove(file + ownSuffix)
}

// on removes the names that SwitchOff added, from a file changed since.
func (o *OwnTools) on(text, was []byte) ([]byte, error) {
	now, err := jsonc{}.decode(text)
	if err != nil {
		return nil, err
	}
	before, err := jsonc{}.decode(was)
	if err != nil {
		return nil, err
	}
	have, _ := at(now, o.how.path)
	had, there := at(before, o.how.path)
	if o.how.flags {
		flags, _ := had.(map[string]any)
		for _, name := range o.Names {
			path := append(o.how.path[:len(o.how.path):len(o.how.path)], name)
			value, set := flags[name]
			if is, found := at(now, path); !found || is != false || err != nil {
				continue
			}
			if text, err = (jsonc{}).remove(text, path); err == nil && set {
				text, err = setJSON(text, path, value)
			}
		}
		return text, err
	}
	theirs, _ := had.([]any)
	list, _ := have.([]any)
	var left []string
	for _, item := range list {
		name, _ := item.(string)
		if !slices.Contains(o.Names, name) || slices.Contains(theirs, item) {
			left = append(left, name)
		}
	}
	if len(left) == 0 && !there && len(list) > 0 {
		return o.removed(text, before)
	}
	if raw := rawAt(was, o.how.path); raw != "" && len(left) == len(theirs) {
		return setJSON(text, o.how.path, verbatim(raw))
	}
	return setJSON(text, o.how.path, append([]string{}, left...))
}

// removed removes the list, and objects left empty that did not exist before.
func (o *OwnTools) removed(text []byte, before any) ([]byte, error) {
	for n := len(o.how.path); n > 0; n-- {
		now, err := jsonc{}.decode(text)
		if err != nil {
			return nil, err
		}
		holder, _ := at(now, o.how.path[:n])
		_, was := at(before, o.how.path[:n])
		if inner, ok := holder.(map[string]any); ok && (len(inner) > 0 || was) {
			return text, nil
		}
		if text, err = (jsonc{}).remove(text, o.how.path[:n]); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// verbatim is a value as written in a file.
type verbatim string

// rawAt returns the value at a path as written, "" if missing.
func rawAt(text []byte, path []string) string {
	_, object, err := openJSON(text)
	for i, key := range path {
		if err != nil {
			return ""
		}
		m := findMember(object, key)
		if m == nil {
			return ""
		}
		if i == len(path)-1 {
			return string(text[m.Value.StartOffset:m.Value.EndOffset])
		}
		inner, ok := m.Value.Value.(*hujson.Object)
		if !ok {
			return ""
		}
		object = inner
	}
	return ""
}
