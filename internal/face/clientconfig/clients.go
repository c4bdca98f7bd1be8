package clientconfig

import (
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// Client is an MCP client whose configuration files are known.
type Client struct {
	// ID is what the command line calls it, Title what people do.
	ID, Title string
	// StartsInProject is true if the client starts servers in the open project's directory.
	StartsInProject bool
	// ProjectArg is what the client replaces by the project's directory in arguments; may be empty.
	ProjectArg string
	// ProjectArgForUser is true when that works in the user's own file, too.
	ProjectArgForUser bool
	// After is what the user has to do for the change to take effect.
	After string

	format  format
	user    func(Machine) []string // candidates, the first that exists counts
	project string                 // relative to the project, "" when there is none
	path    func(data any, name string) []string
	fields  func(data any, s Server) []field
	env     func(names []string) field // nil where the environment is passed on
	link    func(Server) string        // nil where there are no links
	fresh   string                     // what a new file begins with
}

// Machine is where the user's files are.
type Machine struct {
	// OS is linux or darwin.
	OS string
	// Home is the user's home directory.
	Home string
	// Env looks up environment variables.
	Env func(name string) string
}

// config is the directory for programs that follow the XDG rules on every system.
func (m Machine) config() string {
	if dir := m.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(m.Home, ".config")
}

// application is the directory of configuration files of desktop programs.
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

// Printed reports whether toolhost prints the client's entry and leaves it to the user to add it.
func (c *Client) Printed() bool {
	_, yaml := c.format.(yamlFile)
	return yaml
}

// UserFiles are the paths of the user's configuration file, in order of preference; a new one goes to the first.
func (c *Client) UserFiles(m Machine) []string { return c.user(m) }

// ProjectFile is the configuration file of a project. Without one the error is a *tool.Error of
// code unsupported.
func (c *Client) ProjectFile(project string) (string, error) {
	if c.project == "" {
		return "", tool.Errorf(tool.Unsupported, "%s has no configuration of a single project", c.Title).
			Suggest("Leave --project away, to write your own configuration.")
	}
	return filepath.Join(project, filepath.FromSlash(c.project)), nil
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
