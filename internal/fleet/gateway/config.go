package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsimple"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/fleet"
	"github.com/toolhost/toolhost/internal/mcpserve"
)

// Config is what fleet.hcl says: which workspaces there are, and who may use
// them.
type Config struct {
	Workspaces []WorkspaceBlock `hcl:"workspace,block"`
	Tenants    []*Tenant        `hcl:"tenant,block"`
}

// WorkspaceBlock names where the workspaces of sessions come from.
type WorkspaceBlock struct {
	Name      string            `hcl:"name,label"`
	Directory string            `hcl:"directory,optional"`
	Git       string            `hcl:"git,optional"`
	Pack      string            `hcl:"pack,optional"`
	Empty     bool              `hcl:"empty,optional"`
	Config    string            `hcl:"config,optional"`
	Trust     bool              `hcl:"trust,optional"`
	Toolset   string            `hcl:"toolset,optional"`
	Labels    map[string]string `hcl:"labels,optional"`
}

// Tenant is somebody who uses the fleet. Its sessions are visible to it alone.
type Tenant struct {
	Name string `hcl:"name,label"`
	// TokenEnv is the environment variable with the token, TokenFile a file with it.
	TokenEnv  string `hcl:"token_env,optional"`
	TokenFile string `hcl:"token_file,optional"`
	// Expires is when the token ends, as RFC 3339.
	Expires string `hcl:"expires,optional"`
	// Workspaces are those that the tenant may use; the first is for sessions that
	// name none. Empty allows all.
	Workspaces []string `hcl:"workspaces,optional"`
	// Git are the beginnings of URLs that sessions may name by themselves.
	Git []string `hcl:"git,optional"`
	// Calls bounds the calls at one time. Zero is no bound.
	Calls int `hcl:"calls,optional"`
	// Toolset is the one its sessions get, whatever the workspace names.
	Toolset string            `hcl:"toolset,optional"`
	Labels  map[string]string `hcl:"labels,optional"`

	token   [sha256.Size]byte
	expires time.Time
	open    bool // no token: whoever reaches the server
}

// Open is the configuration of a fleet with one tenant and one workspace; who may
// use it is decided before.
func Open(workspace fleet.Workspace) *Config {
	return &Config{Tenants: []*Tenant{{Name: "default", open: true}}, Workspaces: []WorkspaceBlock{{Name: "default",
		Directory: workspace.Directory, Git: workspace.Git, Pack: workspace.Pack, Empty: workspace.Empty,
		Config: workspace.Config, Trust: workspace.Trust, Toolset: workspace.Toolset, Labels: workspace.Labels}}}
}

// Load reads a configuration.
func Load(file string) (*Config, error) {
	c := new(Config)
	if err := hclsimple.DecodeFile(file, nil, c); err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", file, err)
	}
	if len(c.Workspaces) == 0 {
		return nil, fmt.Errorf(`%s names no workspace: add a block like workspace "scratch" { empty = true }`, file)
	}
	for _, w := range c.Workspaces {
		if sources := count(w.Directory != "", w.Git != "", w.Pack != "", w.Empty); sources != 1 {
			return nil, fmt.Errorf("%s: workspace %q: set one of directory, git, pack and empty", file, w.Name)
		}
	}
	for _, t := range c.Tenants {
		if err := t.prepare(c); err != nil {
			return nil, fmt.Errorf("%s: tenant %q: %w", file, t.Name, err)
		}
	}
	if len(c.Tenants) == 0 {
		c.Tenants = []*Tenant{{Name: "default", open: true}}
	}
	return c, nil
}

// NeedsToken reports whether the tenants have tokens of their own.
func (c *Config) NeedsToken() bool { return !c.Tenants[0].open }

func count(set ...bool) (n int) {
	for _, is := range set {
		if is {
			n++
		}
	}
	return n
}

func (t *Tenant) prepare(c *Config) error {
	token := os.Getenv(t.TokenEnv)
	if t.TokenFile != "" {
		data, err := os.ReadFile(t.TokenFile)
		if err != nil {
			return err
		}
		token = strings.TrimSpace(string(data))
	}
	if !mcpserve.IsToken(token) {
		return fmt.Errorf("its token must be one word of at least %d plain characters; set token_file or token_env, "+
			"and make a token with openssl rand -hex 32", mcpserve.MinToken)
	}
	t.token = sha256.Sum256([]byte(token))
	if t.Expires != "" {
		var err error
		if t.expires, err = time.Parse(time.RFC3339, t.Expires); err != nil {
			return fmt.Errorf("expires: %w; write it like 2027-01-31T00:00:00Z", err)
		}
	}
	for _, name := range t.Workspaces {
		if c.named(name) == nil {
			return fmt.Errorf("there is no workspace %q", name)
		}
	}
	return nil
}

func (c *Config) named(name string) *WorkspaceBlock {
	for i := range c.Workspaces {
		if c.Workspaces[i].Name == name {
			return &c.Workspaces[i]
		}
	}
	return nil
}

// tenant is who sends a request.
func (c *Config) tenant(r *http.Request) (*Tenant, *tool.Error) {
	if c.Tenants[0].open {
		return c.Tenants[0], nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	var found *Tenant
	for _, t := range c.Tenants {
		if subtle.ConstantTimeCompare(sum[:], t.token[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
			found = t
		}
	}
	switch {
	case found == nil:
		return nil, tool.Errorf(tool.PermissionDenied, "the request has no valid token").
			Suggest("Send your token in the header Authorization: Bearer TOKEN.")
	case !found.expires.IsZero() && time.Now().After(found.expires):
		return nil, tool.Errorf(tool.PermissionDenied, "the token of %s expired at %s", found.Name, found.Expires).
			Suggest("Ask the operator of the fleet for a new one.")
	}
	return found, nil
}

// asked is the workspace that a client asks for in _meta.
type asked struct {
	Name string `json:"name"`
	Git  string `json:"git"`
	Pack string `json:"pack"`
}

// workspace is where a session's workspace comes from: the one that the path
// names, or _meta, or the tenant's first.
func (c *Config) workspace(t *Tenant, path string, meta json.RawMessage) (*fleet.Workspace, error) {
	var a asked
	if len(meta) > 0 {
		if err := json.Unmarshal(meta, &a); err != nil {
			return nil, tool.Errorf(tool.InvalidArgument, "%s in _meta cannot be read: %w", fleet.WorkspaceMeta, err).
				Suggest(`Write {"name": "NAME"} or {"git": "URL@COMMIT"}.`)
		}
	}
	may := t.Workspaces
	if len(may) == 0 {
		for _, w := range c.Workspaces {
			may = append(may, w.Name)
		}
	}
	name := may[0]
	for _, wanted := range []string{a.Name, path} {
		if wanted != "" {
			name = wanted
		}
	}
	block := c.named(name)
	if block == nil || !slices.Contains(may, name) {
		return nil, tool.Errorf(tool.NotFound, "there is no workspace %q for %s", name, t.Name).
			Suggest("These are: %s.", strings.Join(may, ", "))
	}
	w := &fleet.Workspace{Name: name, Directory: block.Directory, Git: block.Git, Pack: block.Pack, Empty: block.Empty,
		Config: block.Config, Trust: block.Trust, Toolset: block.Toolset, Labels: block.Labels}
	if t.Toolset != "" {
		w.Toolset = t.Toolset
	}
	if len(t.Labels) > 0 {
		w.Labels = merged(block.Labels, t.Labels)
	}
	if a.Git != "" {
		if !slices.ContainsFunc(t.Git, func(prefix string) bool { return strings.HasPrefix(a.Git, prefix) }) {
			return nil, tool.Errorf(tool.PermissionDenied, "%s may not name the repository %s", t.Name, a.Git).
				Suggest("The operator of the fleet allows it with git = [\"URL\"] in the tenant's block.")
		}
		w.Git, w.Pack, w.Directory, w.Empty, w.Trust = a.Git, "", "", false, false
	}
	if a.Pack != "" {
		return nil, tool.Errorf(tool.PermissionDenied, "a session may not name a pack by itself").
			Suggest("The operator of the fleet names packs in workspace blocks.")
	}
	return w, nil
}

func merged(a, b map[string]string) map[string]string {
	all := make(map[string]string)
	for _, m := range []map[string]string{a, b} {
		for name, value := range m {
			all[name] = value
		}
	}
	return all
}
