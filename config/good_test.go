package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// base is the directory of the files that tests parse.
const base = "/base/project"

func env(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := pairs[name]
		return value, ok
	}
}

// parse parses src, which must have no mistakes.
func parse(t testing.TB, name, src string, opts LoadOptions) *Config {
	t.Helper()
	if opts.Env == nil {
		opts.Env = noEnv
	}
	cfg, diags := Parse(filepath.Join(base, name), []byte(src), opts)
	require.NoError(t, diags.Err())
	return cfg
}

func full(t testing.TB) *Config {
	t.Helper()
	src, err := os.ReadFile("testdata/good/full.hcl")
	require.NoError(t, err)
	return parse(t, "agent.hcl", string(src), LoadOptions{Env: env(map[string]string{
		"TOKEN": "tok-secret", "HOME": "/home/me",
	})})
}

func lit(s string) argv.Expr           { return argv.Expr{Literal: s} }
func ref(s string) argv.Expr           { return argv.Expr{Param: s} }
func cat(parts ...argv.Expr) argv.Expr { return argv.Expr{Concat: parts} }
func when(p string, a, b argv.Expr) argv.Expr {
	return argv.Expr{When: &argv.When{Param: p, Then: a, Else: b}}
}

// Bounds and defaults are exported with all their digits.
func TestNumbersKeepTheirDigits(t *testing.T) {
	declare := func(kind, least, most string) string {
		return "tool \"t\" {\n  description = \"D.\"\n  param \"n\" {\n    type    = " + kind + "\n    min     = " + least +
			"\n    max     = " + most + "\n    default = " + least + "\n  }\n  command {\n    argv = [\"x\", param.n]\n  }\n}\n"
	}
	for _, c := range []struct{ kind, least, most, want string }{
		{"integer", "9007199254740993", "9007199254740993",
			`"minimum":9007199254740993,"maximum":9007199254740993,"default":9007199254740993`},
		{"integer", "-18446744073709551617", "18446744073709551617",
			`"minimum":-18446744073709551617,"maximum":18446744073709551617,"default":-18446744073709551617`},
		{"number", "0.1", "0.30000000000000000001", `"minimum":0.1,"maximum":0.30000000000000000001,"default":0.1`},
		{"number", "-1e3", "1e3", `"minimum":-1000,"maximum":1000,"default":-1000`},
	} {
		cfg := parse(t, "agent.hcl", declare(c.kind, c.least, c.most), LoadOptions{})
		assert.Contains(t, string(cfg.Tools[0].Schema()), c.want)
	}
	_, diags := Parse("agent.hcl", []byte(declare("integer", "9007199254740993", "9007199254740992")), LoadOptions{Env: noEnv})
	assert.ErrorContains(t, diags.Err(), "max is less than min")
}

func TestWorkspace(t *testing.T) {
	w := full(t).Workspace
	assert.Equal(t, base, w.Root)
	assert.Equal(t, []string{"/base/shared-lib", "/opt/data", "/home/me/notes"}, w.Allow)
	assert.Equal(t, []string{".git/**", "**/.env"}, w.Protect)
	assert.Equal(t, base+"/agent.hcl:1", w.Pos)
	assert.Equal(t, base, parse(t, "agent.hcl", "", LoadOptions{}).Workspace.Root)
}

func TestInstructions(t *testing.T) {
	cfg := parse(t, "agent.hcl",
		"variable \"where\" {\n  default = \"db/\"\n}\ninstructions = <<-END\n  Rows are in ${var.where}.\n  END\n",
		LoadOptions{})
	assert.Equal(t, "Rows are in db/.", cfg.Instructions)

	_, diags := Parse("agent.hcl", []byte("\ninstructions = \""+strings.Repeat("é", MaxInstructions+1)+"\"\n"),
		LoadOptions{Env: noEnv})
	require.Len(t, diags, 1)
	assert.Equal(t, 2, diags[0].Line)
	assert.Equal(t, "Instructions too long", diags[0].Summary)
}

func TestParamsSchemaIsChecked(t *testing.T) {
	_, diags := Parse("agent.hcl", []byte(`tool "t" {
  description   = "T. Returns: t."
  params_schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"strng\"}}}"
  command {
    argv = ["echo"]
  }
}
`), LoadOptions{Env: noEnv})
	require.Error(t, diags.Err())
	assert.Equal(t, 3, diags[0].Line)
	assert.Contains(t, diags[0].Detail, `type at #/properties/a cannot be read: "strng" is not a type; did you mean "string"?`)
}

func TestPassthrough(t *testing.T) {
	head := full(t).Tools[0]
	assert.Equal(t, "head", head.Name)
	assert.Equal(t, "Head", head.Title)
	assert.Equal(t, tool.ReadOnly, head.Risk)
	assert.Equal(t, []tool.Permission{tool.FileRead}, head.Permissions)
	assert.False(t, head.Access.Network)
	assert.Equal(t, &argv.Wrapper{
		Command: "head", Prepend: []string{"-q"}, Forbid: []string{"--follow"}, Unknown: "refuse", Number: true,
		Options: []argv.Option{
			{Names: []string{"-n", "--lines"}, Value: argv.Number},
			{Names: []string{"--backup"}, Value: argv.String, Optional: true},
			{Names: []string{"-f", "-F"}, Refuse: "it never ends"},
		},
		Operands: argv.Operands{Type: argv.Read, Last: argv.Write, Into: true, Min: 1, Max: 9},
		Settings: argv.Settings{Timeout: 30 * time.Second, Success: []int{0, 1}},
	}, head.Passthrough)
	assert.Equal(t, "-n 20 README.md", head.Examples[0].Args)
	assert.Equal(t, "The beginning.", head.Examples[0].Description)
	assert.Equal(t, "-f x", head.Rejects[0].Args)
	assert.Equal(t, base+"/agent.hcl:57", head.Rejects[0].Pos)
}

func TestParams(t *testing.T) {
	count := full(t).Tools[1]
	assert.Equal(t, "Count things\n  below a directory.\n", count.Description)
	var params []argv.Param
	for _, p := range count.Params {
		assert.NotEmpty(t, p.Pos)
		p.Pos = ""
		params = append(params, p)
	}
	assert.Equal(t, []argv.Param{
		{Name: "dir", Description: "Where.", Type: argv.TypeString, Default: json.RawMessage(`"."`), Path: argv.Read},
		{Name: "depth", Type: argv.TypeInteger, Min: "1", Max: "9", Default: json.RawMessage(`3`)},
		{Name: "ratio", Type: argv.TypeNumber, Default: json.RawMessage(`null`)},
		{Name: "all", Type: argv.TypeBool, Default: json.RawMessage(`false`)},
		{Name: "names", Type: argv.TypeList, Item: argv.TypeString, Enum: []string{"x", "y"}, Min: "0", Max: "2",
			Default: json.RawMessage(`[]`)},
		{Name: "ids", Type: argv.TypeList, Item: argv.TypeInteger},
		{Name: "color", Type: argv.TypeString, Enum: []string{"red", "green"}, Pattern: "^[a-z]+$", Dash: true},
	}, params)
	assert.Equal(t, argv.Access{Network: true, Read: []string{"/usr/share/dict"}, Write: []string{base + "/out"}},
		count.Access)
}

func TestCommand(t *testing.T) {
	command := full(t).Tools[1].Command
	assert.Equal(t, []argv.Expr{
		lit("count"), lit("-v"), lit("--count=3"), cat(lit("--src=src/"), ref("dir")), ref("ids"),
		lit("a/x"), lit("b/x"),
		ref("names"), ref("depth"), when("all", lit("--all"), argv.Expr{Null: true}),
		when("all", lit(""), cat(lit("--some="), ref("color"))), lit("5"), lit("true"), lit("-q"),
	}, command.Argv)
	assert.Equal(t, map[string]argv.Expr{
		"LC_ALL": lit("C"), "TOKEN": lit("tok-secret"), "DIR": ref("dir"), "R-1": ref("ratio"),
	}, command.Env)
	require.NotNil(t, command.Stdin)
	run := func(all bool) string {
		spec := full(t).Tools[1]
		r, err := spec.Resolve(map[string]any{"all": all, "depth": json.Number("4"), "dir": "d", "color": "red"}, nil)
		require.NoError(t, err)
		return string(r.Stdin)
	}
	assert.Equal(t, "depth all\n", run(true))
	assert.Equal(t, "depth 4\n", run(false))
	assert.Equal(t, 90*time.Second, command.Timeout)
	assert.Equal(t, []int{0}, command.Success)
}

func TestPlugin(t *testing.T) {
	p := full(t).Plugins[0]
	config := p.Config
	p.Config = PluginConfig{}
	assert.Equal(t, Plugin{
		Name: "weather", Source: base + "/bin/weather",
		SHA256: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		Prefix: "w_", Args: []string{"--fast"}, Env: map[string]string{"KEY": "k-default", "LEVEL": "INFO"},
		Timeout: 10 * time.Second, StartTimeout: 3 * time.Second,
		Permissions: []tool.Permission{"network", "weather"},
		Access:      argv.Access{Network: true, Read: []string{"/etc/ssl"}, Write: []string{}},
		Pos:         p.Pos,
	}, p)
	data, diags := config.JSON(nil)
	require.NoError(t, diags.Err())
	assert.JSONEq(t, `{"units":"metric","key":"Bearer k-default","nested":{"depth":1},"city":{"bern":{"zip":3000},`+
		`"basel":{"zip":4000}}}`, string(data))
}

func TestServers(t *testing.T) {
	servers := full(t).Servers
	assert.Equal(t, Server{
		Name: "github", Command: []string{"github-mcp-server", "stdio"},
		Env: map[string]string{"TOKEN": "tok-secret", "OTHER": "none"}, Prefix: "gh_",
		Include: []string{"get_*"}, Exclude: []string{"get_secret"}, Timeout: 20 * time.Second,
		Risk: map[string]tool.Risk{"get_*": tool.ReadOnly, "*": tool.Dangerous}, StartTimeout: 45 * time.Second,
		Protocol: "2025-11-25", Roots: []string{"/srv/docs", base + "/docs"}, Access: argv.Access{Network: true},
		Pos: servers[0].Pos,
	}, servers[0])
	assert.Equal(t, "https://example.com/mcp", servers[1].URL)
	assert.Equal(t, map[string]string{"Authorization": "Bearer TOK-SECRET"}, servers[1].Headers)
	assert.Equal(t, &OAuth{
		Grant: "client_credentials", ClientID: "toolhost", ClientSecret: "tok-secret",
		Issuer: "https://login.example.com",
		Scopes: []string{"read", "write:all"}, Private: true, Pos: servers[2].OAuth.Pos,
	}, servers[2].OAuth)
	assert.Equal(t, &OAuth{
		ClientID: "toolhost", ClientSecretFile: filepath.Join(base, "secret"), Issuer: "http://127.0.0.1:3001",
		RedirectPort: 8765,
		Pos:          servers[3].OAuth.Pos,
	}, servers[3].OAuth)
	assert.Equal(t, &OAuth{
		Grant: "jwt_bearer", ClientID: "toolhost", PrivateKeyFile: "/home/me/key.pem", AssertionFile: "/run/token",
		Issuer: "https://login.example.com", Pos: servers[4].OAuth.Pos,
	}, servers[4].OAuth)
}

func TestOtherBlocks(t *testing.T) {
	cfg := full(t)
	assert.Equal(t, &Taskfile{Path: ".agent/Taskfile.yml", Timeout: 5 * time.Minute,
		Access: argv.Access{Network: true, Read: []string{"/go"}}, Pos: cfg.Taskfile.Pos}, cfg.Taskfile)
	assert.Equal(t, "review", cfg.Toolsets[0].Name)
	assert.Equal(t, []string{"read_file", "rg", "count"}, cfg.Toolsets[0].Tools)
	assert.Equal(t, map[string]string{"read_file": "cat"}, cfg.Toolsets[0].Rename)
	assert.Equal(t, "fallback", cfg.Builtins.Unescape)
	assert.Equal(t, Limits{Output: 64 << 10, Timeout: 2 * time.Minute, Processes: 8, Pos: cfg.Limits.Pos}, cfg.Limits)
	assert.Equal(t, []string{"127.0.0.1", "10.0.0.0/8", "intranet.example"}, cfg.Web.Allow)
	assert.Equal(t, int64(2<<20), cfg.Web.MaxSize)
	assert.Equal(t, &Sandbox{Level: "full", Read: []string{"/opt"}, Write: []string{"/home/me/cache"},
		Mask: []string{"/home/me/.ssh"}, Pos: cfg.Sandbox.Pos}, cfg.Sandbox)
}

func TestPolicy(t *testing.T) {
	p := full(t).Policy
	assert.Equal(t, map[tool.Risk]Action{tool.ReadOnly: Allow, tool.Dangerous: Ask}, p.Risks)
	assert.Equal(t, map[tool.Permission]Action{tool.Network: Deny}, p.Permissions)
	assert.Equal(t, []Rule{
		{Name: "text files", Tool: "create_file", Params: `^\{"path":"[^"]*\.txt"`, Action: Allow,
			Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Pos: p.Rules[0].Pos},
		{Name: "push", Command: "git push", Permission: tool.ShellExec, Risk: tool.Dangerous, Action: Deny,
			Disabled: true, Reason: "Ask a person.", Pos: p.Rules[1].Pos},
	}, p.Rules)
}

// A sandbox with network grants it to every block that does not refuse it.
func TestNetworkDefault(t *testing.T) {
	cfg := parse(t, "agent.hcl", `
		tool "a" {
		  description = "x"
		  passthrough { command = "a" }
		}
		tool "b" {
		  description = "x"
		  network     = "deny"
		  passthrough { command = "b" }
		}
		taskfile {}
		sandbox { network = "allow" }`, LoadOptions{})
	assert.True(t, cfg.Tools[0].Access.Network)
	assert.False(t, cfg.Tools[1].Access.Network)
	assert.True(t, cfg.Taskfile.Access.Network)
	assert.Equal(t, "auto", cfg.Sandbox.Level)
}
