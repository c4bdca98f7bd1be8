package config

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// The blocks read the same in HCL's JSON syntax.
func TestOffersInJSON(t *testing.T) {
	cfg := parse(t, "agent.hcl.json", `{
		"tool": {"greet": {
			"description": "Greets.",
			"params_schema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
			"ask": {"who": {"message": "Who greets ${param.to}?", "field": {"name": {"title": "Name"}}}},
			"command": {"argv": ["echo", "${param.to}", "${ask.who.name}"], "stdin": "${param}", "report": "::"},
			"output": [{"text": "Hello ${param.to}"}, {"type": "image", "mime": "image/png", "file": "${param.to}"}]
		}},
		"resource": {"note": {"uri": "note://{id}", "param": {"id": {"pattern": "^[a-z]+$"}}, "file": "notes/${param.id}"}},
		"prompt": {"hi": {"argument": {"name": {}}, "message": [{"text": "Hi ${param.name}"}]}},
		"model": {"url": "http://localhost:1/v1", "model": "m"}
	}`, LoadOptions{})
	greet := cfg.Tools[0]
	assert.JSONEq(t, `{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`,
		string(greet.Schema()))
	assert.Equal(t, []argv.Expr{lit("echo"), ref("to"), ref("ask.who.name")}, greet.Command.Argv)
	assert.Equal(t, &argv.Expr{All: true}, greet.Command.Stdin)
	assert.Equal(t, "Who greets Jo?", greet.Asks[0].Question(map[string]any{"to": "Jo"}).Message)
	assert.Equal(t, exprp(ref("to")), greet.Outputs[1].File)
	assert.Equal(t, exprp(cat(lit("notes/"), ref("id"))), cfg.Resources[0].Content.File)
	assert.Equal(t, tool.KindText, cfg.Prompts[0].Messages[0].Kind)
	assert.Equal(t, exprp(cat(lit("Hi "), ref("name"))), cfg.Prompts[0].Messages[0].Text)
	assert.Equal(t, "m", cfg.Model.Name)
}
