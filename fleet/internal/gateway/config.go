package gateway

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolhost/toolhost/fleet/internal/access"
	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

// Config is fleet.hcl: the workspaces, and who may use them.
type Config struct {
	Workspaces []WorkspaceBlock `hcl:"workspace,block"`
	Tenants    []*Tenant        `hcl:"tenant,block"`
	OAuth      *OAuth           `hcl:"oauth,block"`

	checker *access.Checker // nil without OAuth
}

// OAuth is an authorization server whose access tokens are accepted.
type OAuth struct {
	// Issuer is the server's name in its tokens.
	Issuer string `hcl:"issuer"`
	// Resource is the gateways' URL for clients, which tokens are for.
	Resource string `hcl:"resource"`
	// Audiences are further names of the gateways in tokens.
	Audiences []string `hcl:"audiences,optional"`
	// Scopes are required in every token.
	Scopes []string `hcl:"scopes,optional"`
	// JWKS is the URL of the server's keys; by default from its metadata.
	JWKS string `hcl:"jwks,optional"`
}

// WorkspaceBlock says where the workspaces of sessions come from.
type WorkspaceBlock struct {
	Name      string            `hcl:"name,label"`
	Directory string            `hcl:"directory,optional"`
	Git       string            `hcl:"git,optional"`
	Empty     bool              `hcl:"empty,optional"`
	Config    string            `hcl:"config,optional"`
	Trust     bool              `hcl:"trust,optional"`
	Toolset   string            `hcl:"toolset,optional"`
	Labels    map[string]string `hcl:"labels,optional"`
}

// Tenant is a user of the fleet. Only it sees its sessions.
type Tenant struct {
	Name string `hcl:"name,label"`
	// TokenEnv is the environment variable with the token, TokenFile a file with it.
	TokenEnv  string `hcl:"token_env,optional"`
	TokenFile string `hcl:"token_file,optional"`
	// Claims are required in the tenant's access tokens.
	Claims map[string]string `hcl:"claims,optional"`
	// Expires is when the token expires, as RFC 3339.
	Expires string `hcl:"expires,optional"`
	// Workspaces are those that the tenant may use; the first is the default. Empty allows all.
	Workspaces []string `hcl:"workspaces,optional"`
	// Git are URLs; sessions may name repositories at and below them.
	Git []string `hcl:"git,optional"`
	// Calls limits concurrent calls in each gateway. Zero means no limit.
	Calls int `hcl:"calls,optional"`
	// Packs limits the tenant's packs in the hub, in MiB. Zero means 65536.
	Packs int `hcl:"packs,optional"`
	// Toolset is the one for its sessions, whatever the workspace names.
	Toolset string            `hcl:"toolset,optional"`
	Labels  map[string]string `hcl:"labels,optional"`

	git     []repository // of Git
	token   [sha256.Size]byte
	expires time.Time
	open    bool // no token: anyone who reaches the server
}

// Open returns a fleet with one tenant and one workspace; access is decided before.
func Open(workspace fleet.Workspace) *Config {
	return &Config{Tenants: []*Tenant{{Name: "default", open: true}}, Workspaces: []WorkspaceBlock{{Name: "default",
		Directory: workspace.Directory, Git: workspace.Git, Empty: workspace.Empty,
		Config: workspace.Config, Trust: workspace.Trust, Toolset: workspace.Toolset, Labels: workspace.Labels}}}
}

// Load reads a configuration. Its error has all mistakes.
func Load(file string) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the fleet's configuration cannot be read: %w. Correct --fleet-config; without it each "+
			"session gets an empty workspace", err)
	}
	c := new(Config)
	parsed, diags := hclparse.NewParser().ParseHCL(data, file)
	if !diags.HasErrors() {
		diags = append(diags, gohcl.DecodeBody(parsed.Body, nil, c)...)
	}
	var all []error
	for _, diag := range diags {
		all = append(all, mistake(file, diag))
	}
	if len(all) == 0 {
		all = c.check(file)
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	if len(c.Tenants) == 0 {
		c.Tenants = []*Tenant{{Name: "default", open: true}}
	}
	return c, nil
}

func mistake(file string, diag *hcl.Diagnostic) error {
	if diag.Subject != nil {
		file = fmt.Sprintf("%s:%d", file, diag.Subject.Start.Line)
	}
	return fmt.Errorf("%s: %s. %s", file, strings.TrimSuffix(diag.Summary, "."), diag.Detail)
}

func (c *Config) check(file string) (all []error) {
	if len(c.Workspaces) == 0 {
		all = append(all, fmt.Errorf(`%s names no workspace: add a block like workspace "scratch" { empty = true }`, file))
	}
	for _, w := range c.Workspaces {
		if sources := count(w.Directory != "", w.Git != "", w.Empty); sources != 1 {
			all = append(all, fmt.Errorf("%s: workspace %q: set one of directory, git and empty", file, w.Name))
		}
	}
	if err := c.prepare(); err != nil {
		all = append(all, fmt.Errorf("%s: oauth: %w", file, err))
	}
	for _, t := range c.Tenants {
		if err := t.prepare(c); err != nil {
			all = append(all, fmt.Errorf("%s: tenant %q: %w", file, t.Name, err))
		}
	}
	return all
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

func (c *Config) prepare() (err error) {
	if c.OAuth == nil {
		return nil
	}
	if !slices.ContainsFunc(c.Tenants, func(t *Tenant) bool { return len(t.Claims) > 0 }) {
		return errors.New(`no tenant takes its tokens: give one what they say of themselves, like claims = { sub = "a" }`)
	}
	c.checker, err = access.New(access.Options{Issuer: c.OAuth.Issuer, Resource: c.OAuth.Resource,
		Audiences: c.OAuth.Audiences, Scopes: c.OAuth.Scopes, Keys: c.OAuth.JWKS})
	return err
}

func (t *Tenant) prepareToken(c *Config) error {
	own := t.TokenEnv != "" || t.TokenFile != ""
	switch {
	case len(t.Claims) > 0 && own:
		return errors.New("it has claims and a token of its own; make two tenants of it")
	case len(t.Claims) > 0 && c.OAuth == nil:
		return errors.New("it has claims, but the file has no oauth block that says whose")
	case len(t.Claims) > 0:
		return nil
	}
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
	return nil
}

func (t *Tenant) prepare(c *Config) error {
	all := t.prepareToken(c)
	if t.Expires != "" {
		var err error
		if t.expires, err = time.Parse(time.RFC3339, t.Expires); err != nil {
			all = errors.Join(all, fmt.Errorf("expires: %w; write it like 2027-01-31T00:00:00Z", err))
		}
	}
	for _, name := range t.Workspaces {
		if c.named(name) == nil {
			all = errors.Join(all, fmt.Errorf("there is no workspace %q", name))
		}
	}
	for _, address := range t.Git {
		prefix, err := parseRepository(address)
		if err != nil {
			all = errors.Join(all, fmt.Errorf("git: %w", err))
			continue
		}
		t.git = append(t.git, prefix)
	}
	return all
}

func (c *Config) named(name string) *WorkspaceBlock {
	for i := range c.Workspaces {
		if c.Workspaces[i].Name == name {
			return &c.Workspaces[i]
		}
	}
	return nil
}

func (c *Config) tenant(r *http.Request) (*Tenant, error) {
	if c.Tenants[0].open {
		return c.Tenants[0], nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given = strings.TrimSpace(given)
	if !strings.EqualFold(scheme, "Bearer") || given == "" {
		return nil, errNoToken
	}
	sum := sha256.Sum256([]byte(given))
	var found *Tenant
	for _, t := range c.Tenants {
		if len(t.Claims) == 0 && subtle.ConstantTimeCompare(sum[:], t.token[:]) == 1 {
			found = t
		}
	}
	if found == nil {
		var err error
		if found, err = c.claimed(r, given); err != nil {
			return nil, err
		}
	}
	if !found.expires.IsZero() && time.Now().After(found.expires) {
		return nil, tool.Errorf(tool.PermissionDenied, "the token of %s expired at %s", found.Name, found.Expires).
			Suggest("Ask the operator of the fleet for a new one.")
	}
	return found, nil
}

var errNoToken = tool.Errorf(tool.PermissionDenied, "the request has no valid token").
	Suggest("Send your token in the header Authorization: Bearer TOKEN.")

var errNoTenant = errors.New("the access token is not that of one tenant")

func (c *Config) claimed(r *http.Request, token string) (*Tenant, error) {
	if c.checker == nil {
		return nil, errNoToken
	}
	claims, err := c.checker.Check(r.Context(), token, r.PathValue("toolset"))
	if err != nil {
		return nil, err
	}
	var of []*Tenant
	for _, t := range c.Tenants {
		if len(t.Claims) > 0 && t.has(claims) {
			of = append(of, t)
		}
	}
	switch len(of) {
	case 1:
		return of[0], nil
	case 0:
		return nil, fmt.Errorf("%w: its claims fit none", errNoTenant)
	}
	return nil, fmt.Errorf("%w: its claims fit %s and %s", errNoTenant, of[0].Name, of[1].Name)
}

func (t *Tenant) has(claims access.Claims) bool {
	for name, value := range t.Claims {
		if !claims.Has(name, value) {
			return false
		}
	}
	return true
}

// Metadata implements mcpserve.Backend.
func (g *Gateway) Metadata(path string) *oauthex.ProtectedResourceMetadata {
	if checker := g.options.Config.checker; checker != nil {
		return checker.Metadata(path)
	}
	return nil
}

func (g *Gateway) stranger(w http.ResponseWriter, r *http.Request, err error) {
	status, e, header := http.StatusUnauthorized, tool.AsError(err), map[string]string{}
	challenge := `Bearer realm="toolhost"`
	if checker := g.options.Config.checker; checker != nil {
		challenge = checker.Challenge(r.PathValue("toolset"), err)
	}
	next := "Get an access token where WWW-Authenticate says, or ask the operator of the fleet."
	switch {
	case errors.Is(err, access.ErrKeys):
		status, header["Retry-After"] = http.StatusServiceUnavailable, "10"
		g.logger.Warn("access tokens cannot be checked", "error", err)
		e = tool.Errorf(tool.Unavailable, "%w", access.ErrKeys).
			Suggest("Try again in a moment; the log of the gateway says what is wrong with the issuer's keys.")
	case errors.Is(err, errNoTenant):
		status, challenge = http.StatusForbidden, ""
		g.logger.Info("an access token is refused", "reason", err)
		e = tool.Errorf(tool.PermissionDenied, "%w", errNoTenant).Suggest("Ask the operator of the fleet.")
	case errors.Is(err, access.ErrScope):
		status, e = http.StatusForbidden, tool.Errorf(tool.PermissionDenied, "%w", err).Suggest("%s", next)
	case errors.Is(err, access.ErrToken):
		e = tool.Errorf(tool.PermissionDenied, "%w", err).Suggest("%s", next)
	}
	if challenge != "" && status != http.StatusServiceUnavailable {
		header["WWW-Authenticate"] = challenge
	}
	mcpserve.Refuse(w, status, e, header)
}

// asked is the workspace that a client requests in _meta.
type asked struct {
	Name string `json:"name"`
	Git  string `json:"git"`
}

// workspace returns the origin of a session's workspace: by the path, by _meta, or the tenant's
// first.
func (c *Config) workspace(t *Tenant, path string, meta json.RawMessage) (*fleet.Workspace, error) {
	var a asked
	if len(meta) > 0 {
		members := json.NewDecoder(bytes.NewReader(meta))
		members.DisallowUnknownFields()
		if err := members.Decode(&a); err != nil {
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
	w := &fleet.Workspace{Name: name, Directory: block.Directory, Git: block.Git, Empty: block.Empty,
		Config: block.Config, Trust: block.Trust, Toolset: block.Toolset, Labels: block.Labels}
	if t.Toolset != "" {
		w.Toolset = t.Toolset
	}
	if len(t.Labels) > 0 {
		w.Labels = merged(block.Labels, t.Labels)
	}
	if a.Git != "" {
		git, err := t.repository(a.Git)
		if err != nil {
			return nil, err
		}
		w.Git, w.Directory, w.Empty, w.Trust = git, "", false, false
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
