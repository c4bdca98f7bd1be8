package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A secret is also kept out of texts as it was given: HCL normalizes it.
func TestSecretOfTwoForms(t *testing.T) {
	const given = "cafe\u0301-s3cret"
	cfg := parse(t, "agent.hcl", `
		variable "v" { sensitive = true }
		mcp "x" {
		  command = ["x"]
		  env     = { A = env("TOKEN"), B = "b${var.v}" }
		}`, LoadOptions{Env: env(map[string]string{"TOKEN": given}), Vars: map[string]string{"v": given + "2"}})
	assert.Equal(t, "caf\u00e9-s3cret", cfg.Servers[0].Env["A"])
	for _, secret := range []string{given, "caf\u00e9-s3cret", given + "2", "caf\u00e9-s3cret2"} {
		assert.Contains(t, cfg.Secrets, secret)
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

// A secret appears neither in the text nor in the JSON of a diagnostic.
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
