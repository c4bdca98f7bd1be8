package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nfd is "café" with a combining accent, which NFC would join.
const nfd = "cafe\u0301"

// TestNFD writes decomposed text in every way in which a file can hold it. The
// text must arrive byte for byte: it may name a file.
func TestNFD(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"quoted":             {`"` + nfd + `"`, nfd},
		"escape":             {`"cafe\u0301"`, nfd},
		"long escape":        {`"cafe\U00000301"`, nfd},
		"quoted escapes":     {`"` + nfd + `\t\"$${x} %%{y} \\n"`, nfd + "\t\"${x} %{y} \\n"},
		"template":           {`"a${"-"}` + nfd + `${local.ascii}` + nfd + `"`, "a-" + nfd + "x" + nfd},
		"interpolated":       {`"${local.nfd}/${local.nfd}"`, nfd + "/" + nfd},
		"local":              {`local.nfd`, nfd},
		"local of local":     {`local.again`, nfd},
		"variable default":   {`var.nfd`, nfd},
		"variable given":     {`var.given`, nfd},
		"env":                {`env("NFD")`, nfd},
		"env in template":    {`"x${env("NFD")}"`, "x" + nfd},
		"env default":        {`env("UNSET", "` + nfd + `")`, nfd},
		"parentheses":        {`(local.nfd)`, nfd},
		"conditional":        {`true ? "` + nfd + `" : "y"`, nfd},
		"strip markers":      {`"a ${~ "b" ~} ` + nfd + ` "`, "ab" + nfd + " "},
		"heredoc":            {"<<EOT\n  " + nfd + "\\n $${x}\nEOT\n", "  " + nfd + "\\n ${x}\n"},
		"indented heredoc":   {"<<-EOT\n    " + nfd + "\n      " + nfd + "\n  EOT\n", nfd + "\n  " + nfd + "\n"},
		"composed stays":     {`"caf\u00e9 café"`, "caf\u00e9 caf\u00e9"},
		"singleton stays":    {`"\u212b"`, "\u212b"}, // the angstrom sign, which NFC replaces
		"a function changes": {`upper("` + nfd + `")`, "CAF\u00c9"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			src := fmt.Sprintf(`
				variable "nfd" { default = "%s" }
				variable "given" { default = "" }
				locals {
				  ascii = "x"
				  nfd   = "%s"
				  again = "${local.nfd}"
				}
				tool "x" {
				  description = "x"
				  command {
				    argv = ["x"]
				    env  = { V = %s }
				    stdin = %s
				  }
				}
				mcp "x" {
				  command = ["x"]
				  env = { V = %s }
				}`, nfd, nfd, tc.text, tc.text, tc.text)
			cfg := parse(t, "agent.hcl", src, LoadOptions{
				Vars: map[string]string{"given": nfd}, Env: env(map[string]string{"NFD": nfd}),
			})
			command := cfg.Tools[0].Command
			assert.Equal(t, tc.want, command.Env["V"].Literal)
			assert.Equal(t, tc.want, command.Stdin.Literal)
			assert.Equal(t, tc.want, cfg.Servers[0].Env["V"])
		})
	}
}

func TestNFDElsewhere(t *testing.T) {
	src := fmt.Sprintf(`
		workspace { root = "%[1]s" }
		tool "x" {
		  description = "%[1]s"
		  param "p" { default = "%[1]s" }
		  command { argv = ["x", "%[1]s=${param.p}/%[1]s", param.p] }
		  example { params = { p = "%[1]s" } }
		}
		plugin "p" {
		  source = "./%[1]s"
		  config { list = ["%[1]s", { "%[1]s" = "%[1]s" }] }
		}`, nfd)
	for _, name := range []string{"agent.hcl", "agent.hcl.json"} {
		if strings.HasSuffix(name, ".json") {
			src = fmt.Sprintf(`{"workspace": {"root": "%[1]s"},
			  "tool": {"x": {"description": "%[1]s", "param": {"p": {"default": "%[1]s"}},
			    "command": {"argv": ["x", "%[1]s=${param.p}/%[1]s", "${param.p}"]},
			    "example": {"params": {"p": "%[1]s"}}}},
			  "plugin": {"p": {"source": "./%[1]s", "config": {"list": ["%[1]s", {"%[1]s": "%[1]s"}]}}}}`, nfd)
		}
		t.Run(name, func(t *testing.T) {
			cfg := parse(t, name, src, LoadOptions{})
			spec := cfg.Tools[0]
			assert.Equal(t, base+"/"+nfd, cfg.Workspace.Root)
			assert.Equal(t, nfd, spec.Description)
			assert.Equal(t, `"`+nfd+`"`, string(spec.Params[0].Default))
			assert.Equal(t, `{"p":"`+nfd+`"}`, string(spec.Examples[0].Params))
			assert.Equal(t, base+"/"+nfd, cfg.Plugins[0].Source)
			data, diags := cfg.Plugins[0].Config.JSON(nil)
			require.NoError(t, diags.Err())
			assert.Equal(t, fmt.Sprintf(`{"list":["%[1]s",{"%[1]s":"%[1]s"}]}`, nfd), string(data))
			run, err := spec.Resolve(map[string]any{"p": "v" + nfd}, nil)
			require.NoError(t, err)
			assert.Equal(t, []string{"x", nfd + "=v" + nfd + "/" + nfd, "v" + nfd}, run.Argv)
		})
	}
}

func TestSecrets(t *testing.T) {
	src := `
		variable "password" {
		  default   = "hunter22"
		  sensitive = true
		}
		variable "token" { default = "" }
		locals {
		  upper = upper(env("TOKEN"))
		  list  = [env("TOKEN"), "plain"]
		}
		mcp "x" {
		  command = concat(["server"], local.list)
		  env     = { A = local.upper, B = "Bearer ${env("TOKEN")}", C = var.password, D = env("MISSING", "fallback") }
		}`
	cfg, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: env(map[string]string{"TOKEN": "s3cret-token"})})
	require.NoError(t, diags.Err())
	assert.ElementsMatch(t, []string{"s3cret-token", "hunter22", "S3CRET-TOKEN"}, cfg.Secrets)
	assert.Equal(t, []string{"server", "s3cret-token", "plain"}, cfg.Servers[0].Command)
	assert.Equal(t, "Bearer s3cret-token", cfg.Servers[0].Env["B"])
	assert.Equal(t, "hunter22", cfg.Servers[0].Env["C"])
	assert.ElementsMatch(t, []string{"TOKEN", "MISSING"}, cfg.EnvNames)
	assert.Nil(t, cfg.Variables[0].Value)
}

// A secret shows up neither in the text nor in the JSON of a diagnostic.
func TestSecretsInDiagnostics(t *testing.T) {
	src := `
		locals { token = env("TOKEN") }
		tool "x" {
		  description = "x"
		  risk        = local.token
		  command {
		    argv    = ["x", tonumber(local.token), jsonencode({ a = local.token, b = nosuch() })]
		    timeout = "${local.token}"
		  }
		}
		web { allow = ["http://${local.token}"] }
		toolset "t" { tools = [local.token, "x ${upper(local.token)}"] }`
	_, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: env(map[string]string{"TOKEN": "s3cret-token"})})
	require.True(t, diags.HasErrors())
	var b strings.Builder
	require.NoError(t, diags.Write(&b, false))
	require.NoError(t, diags.WriteJSON(&b))
	assert.GreaterOrEqual(t, len(diags), 5)
	assert.NotContains(t, strings.ToLower(b.String()), "s3cret")
}

func TestEnvNotSet(t *testing.T) {
	_, diags := Parse("agent.hcl", []byte(`mcp "x" {
	  command = ["x"]
	  env     = { A = env("GONE"), B = upper(env("GONE")) }
	}`), LoadOptions{Env: noEnv})
	require.Len(t, diags, 1)
	assert.Equal(t, "warning", diags[0].Severity)
	assert.Equal(t, 3, diags[0].Line)
	assert.Contains(t, diags[0].Suggestion, `env("GONE", "")`)
}

func TestVariables(t *testing.T) {
	src := `
		variable "text" { default = "d" }
		variable "flag" { default = false }
		variable "count" { default = 1 }
		variable "list" { default = ["a"] }
		variable "map" { default = { a = 1 } }
		variable "required" { description = "No default." }
		mcp "x" {
		  command = concat(["x", var.text, var.flag ? "on" : "off", "${var.count + 1}", "${var.map.a}", var.required], var.list)
		}`
	cases := map[string]struct {
		vars, env map[string]string
		want      []string
	}{
		"defaults": {map[string]string{"required": "r"}, nil, []string{"x", "d", "off", "2", "1", "r", "a"}},
		"command line": {map[string]string{"required": "r", "text": "5", "flag": "true", "count": "41",
			"list": `["b","c"]`, "map": `{"a":7}`}, nil, []string{"x", "5", "on", "42", "7", "r", "b", "c"}},
		"environment": {nil, map[string]string{"TOOLHOST_VAR_required": "e", "TOOLHOST_VAR_flag": "true"},
			[]string{"x", "d", "on", "2", "1", "e", "a"}},
		"both": {map[string]string{"required": "line"}, map[string]string{"TOOLHOST_VAR_required": "e"},
			[]string{"x", "d", "off", "2", "1", "line", "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := parse(t, "agent.hcl", src, LoadOptions{Vars: tc.vars, Env: env(tc.env)})
			assert.Equal(t, tc.want, cfg.Servers[0].Command)
		})
	}
	_, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: noEnv, Vars: map[string]string{
		"required": "r", "flag": "maybe", "count": "many", "list": "a", "txet": "x",
	}})
	var got []string
	for _, d := range diags {
		got = append(got, fmt.Sprintf("%d %s", d.Line, d.Summary))
	}
	assert.Equal(t, []string{"0 Unknown variable", "3 Wrong type of value", "4 Wrong type of value",
		"5 Wrong type of value"}, got)
	assert.Equal(t, `Did you mean "text"?`, diags[0].Suggestion)
}

// The JSON syntax gives what the native syntax gives.
func TestJSONSyntax(t *testing.T) {
	native := parse(t, "agent.hcl", `
		locals { src = "src" }
		workspace { allow = ["../lib"] }
		tool "count" {
		  description = "Count."
		  risk        = "read_only"
		  param "dir" {
		    type    = list(string)
		    default = ["."]
		    path    = "read"
		  }
		  param "all" {
		    type = bool
		  }
		  command {
		    argv    = ["rg", 5, "${local.src}/x", param.dir, param.all ? "-a" : null, "a${param.dir}"]
		    env     = { A = env("HOME"), B = true }
		    success = [0, 1]
		  }
		  example { params = { dir = ["a"], all = true } }
		  reject { params = {} }
		}
		tool "head" {
		  description = "Head."
		  passthrough {
		    command = "head"
		    option "-n" "--lines" { value = "number" }
		  }
		}
		toolset "a" {
		  tools  = ["rg"]
		  rename = { rg = "grep" }
		}
		policy {
		  rule "a" {
		    tool   = "x"
		    action = "deny"
		  }
		}`, LoadOptions{Env: env(map[string]string{"HOME": "/h"})})
	other := parse(t, "agent.hcl.json", `{
		"//": "a comment",
		"locals": {"src": "src"},
		"workspace": {"allow": ["../lib"]},
		"tool": {
		  "count": {
		    "description": "Count.", "risk": "read_only",
		    "param": {"dir": {"type": "list(string)", "default": ["."], "path": "read"}, "all": {"type": "bool"}},
		    "command": {
		      "argv": ["rg", 5, "${local.src}/x", "${param.dir}", "${param.all ? \"-a\" : null}", "a${param.dir}"],
		      "env": {"A": "${env(\"HOME\")}", "B": true},
		      "success": [0, 1]
		    },
		    "example": {"params": {"dir": ["a"], "all": true}},
		    "reject": [{"params": {}}]
		  },
		  "head": {"description": "Head.", "passthrough": {"command": "head", "option": {"-n --lines": {"value": "number"}}}}
		},
		"toolset": {"a": {"tools": ["rg"], "rename": {"rg": "grep"}}},
		"policy": {"rule": {"a": {"tool": "x", "action": "deny"}}}
	}`, LoadOptions{Env: env(map[string]string{"HOME": "/h"})})
	assert.Equal(t, plainJSON(t, native), plainJSON(t, other))
}

// plainJSON gives a config without its places.
func plainJSON(t *testing.T, cfg *Config) string {
	data, err := json.Marshal(cfg)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"Pos", "ToolPos", "Path", "SHA256"} {
				if key != "Path" || v["Dir"] != nil {
					delete(v, key)
				}
			}
			for _, item := range v {
				strip(item)
			}
		case []any:
			for _, item := range v {
				strip(item)
			}
		}
	}
	strip(v)
	data, err = json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(data)
}
