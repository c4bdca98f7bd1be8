package clientconfig

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// patience is how long a call may take, in seconds, where a client would give
// up earlier. Builds and tests take minutes.
const patience = int64(600)

// inHome gives files below the home directory, with slashes.
func inHome(files ...string) func(Machine) []string {
	return func(m Machine) (all []string) {
		for _, file := range files {
			all = append(all, filepath.Join(append([]string{m.Home}, strings.Split(file, "/")...)...))
		}
		return all
	}
}

// inConfig gives files in a directory of the XDG configuration directory.
func inConfig(dir string, files ...string) func(Machine) []string {
	return func(m Machine) (all []string) {
		for _, file := range files {
			all = append(all, filepath.Join(m.config(), dir, file))
		}
		return all
	}
}

// inApplication gives a file among those of desktop programs.
func inApplication(parts ...string) func(Machine) []string {
	return func(m Machine) []string {
		return []string{filepath.Join(append([]string{m.application()}, parts...)...)}
	}
}

// names tells a client the names of variables that it passes on.
func names(key string) func([]string) field {
	return func(names []string) field { return field{key: key, value: names, shared: true} }
}

// references tells a client variables whose values are references to its own,
// in a form that is empty where one is not set. Those that are there are not
// changed.
func references(before, after string) func([]string) field {
	return func(names []string) field {
		var all members
		for _, name := range names {
			all = append(all, field{key: name, value: before + name + after, initial: true})
		}
		return field{key: "env", value: all}
	}
}

// under is the path of an entry below one key.
func under(key string) func(any, string) []string {
	return func(_ any, name string) []string { return []string{key, name} }
}

// plain are the fields that most clients have.
func plain(_ any, s Server) []field {
	return []field{{key: "command", value: s.Command}, {key: "args", value: s.Args}}
}

// typed are the fields of clients that want to be told the transport.
func typed(_ any, s Server) []field {
	return append([]field{{key: "type", value: "stdio"}}, plain(nil, s)...)
}

func gooseFields(_ any, s Server) []field {
	return []field{
		{key: "enabled", value: true, initial: true}, {key: "type", value: "stdio"}, {key: "name", value: s.Name},
		{key: "description", value: "The tools of the project, by toolhost", initial: true},
		{key: "cmd", value: s.Command}, {key: "args", value: s.Args},
		{key: "timeout", value: int64(300), initial: true},
	}
}

// zedFields has source for the versions of Zed that want to be told that the
// server does not come from an extension.
func zedFields(_ any, s Server) []field {
	return append([]field{{key: "source", value: "custom"}}, plain(nil, s)...)
}

// opencodePath is mcp.NAME, or mcp.servers.NAME in a file that has the form of
// opencode 2, which reads both.
func opencodePath(data any, name string) []string {
	if opencode2(data) {
		return []string{"mcp", "servers", name}
	}
	return []string{"mcp", name}
}

func opencode2(data any) bool {
	servers, ok := at(data, []string{"mcp", "servers"})
	_, isMap := servers.(map[string]any)
	_, isServer := at(servers, []string{"command"}) // one that is named so
	return ok && isMap && !isServer
}

func opencodeFields(data any, s Server) []field {
	fields := localFields(data, s)
	if opencode2(data) {
		return fields[:2]
	}
	return fields
}

// localFields are those of opencode 1 and of what was made of it.
func localFields(_ any, s Server) []field {
	return []field{
		{key: "type", value: "local"}, {key: "command", value: append([]string{s.Command}, s.Args...)},
		{key: "enabled", value: true, initial: true},
	}
}

// clineFields has the transport apart.
func clineFields(_ any, s Server) []field {
	return []field{{key: "transport", value: members(typed(nil, s))}, {key: "timeout", value: patience, initial: true}}
}

func patientFields(_ any, s Server) []field {
	return append(plain(nil, s), field{key: "timeout", value: patience, initial: true})
}

func continueFields(_ any, s Server) []field {
	return append([]field{{key: "name", value: s.Name}}, plain(nil, s)...)
}

func copilotFields(_ any, s Server) []field {
	return append(append([]field{{key: "type", value: "local"}}, plain(nil, s)...),
		field{key: "tools", value: []string{"*"}, initial: true})
}

// FiltersEnv reports whether the client passes on only those environment
// variables that the entry names.
func (c *Client) FiltersEnv() bool { return c.env != nil }

// Link is what a user clicks on to have the client take the server over. The
// error is a *tool.Error of code unsupported when the client has no links.
func (c *Client) Link(s Server) (string, error) {
	if c.link == nil {
		return "", tool.Errorf(tool.Unsupported, "%s takes no servers over from links", c.Title).
			Suggest("Leave --link out, to write its configuration.")
	}
	return c.link(s), nil
}

// cursorLink has the entry in base64.
func cursorLink(s Server) string {
	entry := (&jsonText{}).renderFlat(members(typed(nil, s)))
	return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + escape(s.Name) + "&config=" +
		escape(base64.StdEncoding.EncodeToString([]byte(entry)))
}

// vscodeLink has the entry with its name in it.
func vscodeLink(s Server) string {
	entry := append([]field{{key: "name", value: s.Name}}, typed(nil, s)...)
	return "vscode:mcp/install?" + escape((&jsonText{}).renderFlat(members(entry)))
}

// escape escapes as JavaScript's encodeURIComponent does, whose counterpart
// takes no + for a blank.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
