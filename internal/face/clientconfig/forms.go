package clientconfig

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// patience is the time for a call, in seconds, for clients that would give up earlier. Builds and
// tests take minutes.
const patience = int64(600)

// inHome returns files below the home directory, with slashes.
func inHome(files ...string) func(Machine) []string {
	return func(m Machine) (all []string) {
		for _, file := range files {
			all = append(all, filepath.Join(append([]string{m.Home}, strings.Split(file, "/")...)...))
		}
		return all
	}
}

// inConfig returns files in the XDG configuration directory.
func inConfig(dir string, files ...string) func(Machine) []string {
	return func(m Machine) (all []string) {
		for _, file := range files {
			all = append(all, filepath.Join(m.config(), dir, file))
		}
		return all
	}
}

// inApplication returns a file among those of desktop programs.
func inApplication(parts ...string) func(Machine) []string {
	return func(m Machine) []string {
		return []string{filepath.Join(append([]string{m.application()}, parts...)...)}
	}
}

// names lists the names of variables that a client passes on.
func names(key string) func([]string) field {
	return func(names []string) field { return field{key: key, value: names, shared: true} }
}

// references sets variables to references to the client's own, in a form that is empty for an unset
// one. Existing ones stay.
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

// zedFields has source for versions of Zed that require it for servers that are not extensions.
func zedFields(_ any, s Server) []field {
	return append([]field{{key: "source", value: "custom"}}, plain(nil, s)...)
}

// opencodePath is mcp.NAME, or mcp.servers.NAME in a file of opencode 2's form.
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

// FiltersEnv reports whether the client passes on only the environment variables that the entry names.
func (c *Client) FiltersEnv() bool { return c.env != nil }

// Link is a link that adds the server to the client. Without links the error is a *tool.Error of
// code unsupported.
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

// escape is JavaScript's encodeURIComponent, whose counterpart does not read + as a blank.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
