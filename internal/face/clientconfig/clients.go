package clientconfig

import (
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// Client is an MCP client whose configuration files are known.
type Client struct {
	// ID is its name on the command line, Title its name for people.
	ID, Title string
	// StartsInProject reports whether the client starts servers in the project's directory.
	StartsInProject bool
	// ProjectArg is the placeholder that the client replaces by the project's directory in arguments,
	// or "".
	ProjectArg string
	// ProjectArgForUser reports whether that works in the user's own file too.
	ProjectArgForUser bool

	format  format
	user    func(Machine) []string // candidates; the first that exists counts
	project string                 // relative to the project, or ""
	path    func(data any, name string) []string
	fields  func(data any, s Server) []field
	env     func(names []string) field // nil if the environment is passed on
	link    func(Server) string        // nil if there are no links
	fresh   string                     // initial content of a new file
	after   string                     // what the user must do then; NAME is the server's
	trust   string                     // what the user must do besides for a project's file
}

// Machine locates the user's files.
type Machine struct {
	// OS is linux or darwin.
	OS string
	// Home is the user's home directory.
	Home string
	// Env looks up environment variables.
	Env func(name string) string
}

// config returns the directory for programs that follow the XDG rules on every system.
func (m Machine) config() string {
	if dir := m.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(m.Home, ".config")
}

// application returns the directory for desktop programs' configuration.
func (m Machine) application() string {
	if m.OS == "darwin" {
		return filepath.Join(m.Home, "Library", "Application Support")
	}
	return m.config()
}

// from returns the directory in an environment variable, or else one below the home directory.
func (m Machine) from(variable string, below ...string) string {
	if dir := m.Env(variable); variable != "" && dir != "" {
		return dir
	}
	return filepath.Join(append([]string{m.Home}, below...)...)
}

// Printed reports whether toolhost prints the client's entry for the user to add.
func (c *Client) Printed() bool {
	_, yaml := c.format.(yamlFile)
	return yaml
}

// UserFiles returns the possible paths of the user's configuration file, in order of preference; a new
// one goes to the first.
func (c *Client) UserFiles(m Machine) []string { return c.user(m) }

// ProjectFile returns a project's configuration file. If there is none, the error is a *tool.Error of
// code unsupported.
func (c *Client) ProjectFile(project string) (string, error) {
	if c.project == "" {
		return "", tool.Errorf(tool.Unsupported, "%s has no configuration of a single project", c.Title).
			Suggest("Leave --project away, to write your own configuration.")
	}
	return filepath.Join(project, filepath.FromSlash(c.project)), nil
}

// After returns what the user must do for the change to take effect, and for the client to call tools.
func (c *Client) After(server string, project bool) string {
	text := strings.ReplaceAll(c.after, "NAME", server)
	if project && c.trust != "" {
		text += " " + c.trust
	}
	return text
}

// Find returns the client of that ID. The error is a *tool.Error of code not_found.
func Find(id string) (*Client, error) {
	var ids []string
	for _, c := range Clients() {
		if c.ID == id {
			return c, nil
		}
		ids = append(ids, c.ID)
	}
	err := tool.Errorf(tool.NotFound, "there is no client %q", id)
	return nil, err.Suggest("%s", nearest.Hint(id, ids, "The clients are "+strings.Join(ids, ", ")+"."))
}
