package config

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

func outputs(t *testing.T) []argv.Spec {
	t.Helper()
	src, err := os.ReadFile("testdata/good/outputs.hcl")
	require.NoError(t, err)
	return parse(t, "agent.hcl", string(src), LoadOptions{}).Tools
}

func exprp(e argv.Expr) *argv.Expr { return &e }

func TestRawSchema(t *testing.T) {
	chart := outputs(t)[0]
	assert.Contains(t, string(chart.Schema()), `"$defs": { "point": { "$anchor": "p", "type": "object"`,
		"as it was written")
	types := make(map[string]argv.Type)
	for _, p := range chart.Params {
		types[p.Name] = p.Type
		assert.Equal(t, p.Name == "to", p.Required(), p.Name)
	}
	assert.Equal(t, map[string]argv.Type{"to": "string", "points": "list", "n": "integer", "log": "bool"}, types)
	assert.Equal(t, argv.Write, chart.Params[3].Path)
}

func TestAskAndOutput(t *testing.T) {
	chart := outputs(t)[0]
	assert.Equal(t, []argv.Expr{
		lit("chart"), when("log", lit("--log"), argv.Expr{Null: true}), cat(lit("--color="), ref("ask.style.color")),
		ref("ask.dirs.roots"), ref("ask.free.e"), lit("--"), ref("to"),
	}, chart.Command.Argv)
	assert.Equal(t, ref("ask.title.text"), chart.Command.Env["TITLE"])
	assert.Equal(t, &argv.Expr{All: true}, chart.Command.Stdin)
	assert.Equal(t, "chart:", chart.Command.Report)

	for i := range chart.Outputs {
		assert.NotEmpty(t, chart.Outputs[i].Pos)
		chart.Outputs[i].Pos = ""
	}
	assert.Equal(t, []argv.Content{
		{Kind: tool.KindText, Text: exprp(cat(lit("Drawn: "), ref("to")))},
		{Kind: tool.KindImage, MIME: "image/png", File: exprp(ref("to"))},
		{Kind: tool.KindAudio, MIME: "audio/wav", Base64: true},
		{Kind: tool.KindResource, URI: exprp(cat(lit("chart://"), ref("to"))), Data: []byte{0, 1, 2}},
	}, chart.Outputs)
	facts := outputs(t)[1]
	assert.True(t, facts.Outputs[0].JSON)
	assert.JSONEq(t, `{"type":"object","properties":{"n":{"type":"integer"}}}`, string(facts.Returns))
}

// The form is what MCP's elicitation requires: a flat object whose choices have titles by oneOf and anyOf.
func TestForm(t *testing.T) {
	asks := outputs(t)[0].Asks
	require.Len(t, asks, 4)
	form := asks[0].Question(map[string]any{"to": "a.png"})
	assert.Equal(t, "Which style for a.png?", form.Message)
	assert.JSONEq(t, `{"type":"object","properties":{
		"color":{"type":"string","title":"Color","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
		"width":{"type":"integer","minimum":1,"maximum":9,"default":2},
		"marks":{"type":"array","items":{"type":"string","enum":["dot","line"]},"default":["dot"]},
		"mail":{"type":"string","format":"email"}
	},"required":["color"]}`, string(form.Schema))
	assert.Equal(t, &tool.SampleRequest{System: "Be brief.", Prompt: "A title for a.png.", MaxTokens: 20},
		asks[1].Question(map[string]any{"to": "a.png"}).Sample)
	assert.True(t, asks[1].Optional)
	assert.True(t, asks[2].Question(nil).Roots)
	assert.JSONEq(t, `{"type":"object","properties":{"e":{"type":"string","enum":["a"],"enumNames":["A"]}}}`,
		string(asks[3].Question(nil).Schema))
}

// Text that arrives with a call keeps its bytes in every use.
func TestCallTextKeepsItsBytes(t *testing.T) {
	chart := outputs(t)[0]
	decomposed := "e\u0301"
	assert.Equal(t, "Drawn: "+decomposed, chart.Outputs[0].Text.Text(map[string]any{"to": decomposed}))
	assert.Equal(t, "Which style for "+decomposed+"?", chart.Asks[0].Question(map[string]any{"to": decomposed}).Message)
}

func TestOutputOfNothing(t *testing.T) {
	tool := func(output string) string {
		return "tool \"t\" {\n  description = \"T. Returns: t.\"\n  command {\n    argv = [\"x\"]\n  }\n  output {\n" +
			output + "\n  }\n}\n"
	}
	cfg := parse(t, "agent.hcl", tool("type = \"json\"\nempty = \"[]\""), LoadOptions{})
	assert.Equal(t, "[]", cfg.Tools[0].Outputs[0].Empty)
	for output, line := range map[string]int{"type = \"json\"\nempty = \"[\"": 8, "empty = \"[]\"": 7} {
		_, diags := Parse("agent.hcl", []byte(tool(output)), LoadOptions{Env: noEnv})
		require.Error(t, diags.Err(), output)
		assert.Equal(t, line, diags[0].Line, output)
	}
}
