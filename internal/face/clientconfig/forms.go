package clientconfig

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// patience is a call's time, in seconds, for clients with a short limit. Builds and tests take minutes.
const patience = int64(600)

// inHome returns files below the home directory. Names use slashes.
func inHome(files ...string) func(Machine) []string {
	return func(m Machine) (all []string) {
		for _, file := range files {
			all = append(all, filepath.Join(append([]string{m.Home}, strings.Split(file, "/")...)...))
		}
		return all
	}
}

func inConfig(dir string, files ...string) func(Machine) []string {
	return func(m Machine) (all []string) {
		for _, file := range files {
			all = append(all, filepath.Join(m.config(), dir, file))
		}
		return all
	}
}

func inApplication(parts ...string) func(Machine) []string {
	return func(m Machine) []string {
		return []string{filepath.Join(append([]string{m.application()}, parts...)...)}
	}
}

// names lists the variables that a client passes on.
func names(key string) func([]string) field {
	return func(names []string) field { return field{key: key, value: names, shared: true} }
}

// references sets variables to references to the client's own, in a form that is empty if unset.
// Existing ones stay.
func references(before, after string) func([]string) field {
	return func(names []string) field {
		var all members
		for _, name := range names {
			all = append(all, field{key: name, value: before + name + after, initial: true})
		}
		return field{key: "env", value: all}
	}
}

func under(key string) func(any, string) []string {
	return func(_ any, name string) []string { return []string{key, name} }
}

// plain returns the fields that most clients have.
func plain(_ any, s Server) []field {
	return []field{{key: "command", value: s.Command}, {key: "args", value: s.Args}}
}

// typed returns the fields for clients that want the transport.
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

// zedFields has source, which older versions of Zed require for servers that are not extensions.
func zedFields(_ any, s Server) []field {
	return append([]field{{key: "source", value: "custom"}}, plain(nil, s)...)
}

// opencodePath is mcp.NAME, or mcp.servers.NAME in opencode 2's form.
func opencodePath(data any, name string) []string {
	if opencode2(data) {
		return []string{"mcp", "servers", name}
	}
	return []string{"mcp", name}
}

func opencode2(data any) bool {
	servers, ok := at(data, []string{"mcp", "servers"})
	_, isMap := servers.(map[string]any)
	_, isServer := at(servers, []string{"command"}) // a server of that name
	return ok && isMap && !isServer
}

func opencodeFields(data any, s Server) []field {
	fields := localFields(data, s)
	if opencode2(data) {
		return fields[:2]
	}
	return fields
}

// localFields returns the fields for opencode 1 and its forks.
func localFields(_ any, s Server) []field {
	return []field{
		{key: "type", value: "local"}, {key: "command", value: append([]string{s.Command}, s.Args...)},
		{key: "enabled", value: true, initial: true},
	}
}

// clineFields nests the transport.
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

// Link returns a link that adds the server to the client. If the client has none, the error is a
// *tool.Error of code unsupported.
func (c *Client) Link(s Server) (string, error) {
	if c.link == nil {
		return "", tool.Errorf(tool.Unsupported, "%s takes no servers over from links", c.Title).
			Suggest("Leave --link out, to write its configuration.")
	}
	return c.link(s), nil
}

func cursorLink(s Server) string {
	entry := (&jsonText{}).renderFlat(members(typed(nil, s)))
	return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + escape(s.Name) + "&config=" +
		escape(base64.StdEncoding.EncodeToString([]byte(entry)))
}

func vscodeLink(s Server) string {
	entry := append([]field{{key: "name", value: s.Name}}, typed(nil, s)...)
	return "vscode:mcp/install?" + escape((&jsonText{}).renderFlat(members(entry)))
}

// escape is JavaScript's encodeURIComponent, whose counterpart does not decode + as a space.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
