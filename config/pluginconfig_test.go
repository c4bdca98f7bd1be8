package config

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const weatherSchema = `{
  "type": "object",
  "properties": {
    "units": {"type": "string", "enum": ["metric", "imperial"], "default": "metric"},
    "retries": {"type": "integer", "minimum": 0},
    "city": {"type": "object", "additionalProperties": {"type": "object"}},
    "server": {"type": "array", "items": {"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]}},
    "cache": {"type": "object", "properties": {"size": {"type": "integer"}}}
  },
  "required": ["retries"],
  "additionalProperties": false
}`

func weather(t *testing.T, name, body string) PluginConfig {
	t.Helper()
	src := "plugin \"w\" {\n  source = \"w\"\n  config {\n" + body + "\n  }\n}"
	return parse(t, name, src, LoadOptions{}).Plugins[0].Config
}

func TestPluginConfig(t *testing.T) {
	cases := map[string]struct{ name, body, want string }{
		"defaults": {"agent.hcl", `retries = 1`, `{"retries":1,"units":"metric"}`},
		"one server": {"agent.hcl", "retries = 1\nserver { host = \"a\" }",
			`{"retries":1,"server":[{"host":"a"}],"units":"metric"}`},
		"two servers": {"agent.hcl", "retries = 1\nserver { host = \"a\" }\nserver { host = \"b\" }",
			`{"retries":1,"server":[{"host":"a"},{"host":"b"}],"units":"metric"}`},
		"labels": {"agent.hcl", "retries = 1\ncity \"bern\" { zip = 3000 }\ncity \"basel\" {}",
			`{"retries":1,"city":{"bern":{"zip":3000},"basel":{}},"units":"metric"}`},
		"one object": {"agent.hcl", "retries = 1\ncache { size = 5 }\nunits = \"imperial\"",
			`{"retries":1,"units":"imperial","cache":{"size":5}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, diags := weather(t, tc.name, tc.body).JSON(json.RawMessage(weatherSchema))
			require.NoError(t, diags.Err())
			assert.JSONEq(t, tc.want, string(got))
		})
	}
}

func TestPluginConfigMistakes(t *testing.T) {
	c := weather(t, "agent.hcl",
		"units = \"metrik\"\nretries = -1\ncolour = 1\ncache {}\ncache {}\nserver {}\ncity \"a\" {}\ncity \"a\" {}")
	_, diags := c.JSON(json.RawMessage(weatherSchema))
	lines := map[int]string{}
	for _, d := range diags {
		assert.Equal(t, "agent.hcl", d.File[len(d.File)-9:])
		lines[d.Line] = d.Detail
	}
	for _, line := range []int{4, 5, 6, 8, 9, 11} {
		assert.Contains(t, lines, line)
	}
	assert.Contains(t, lines[4], "metrik")
	_, diags = weather(t, "agent.hcl", "").JSON(json.RawMessage(weatherSchema))
	require.Len(t, diags, 1)
	assert.Equal(t, 3, diags[0].Line)
	_, diags = weather(t, "agent.hcl", "").JSON(json.RawMessage(`{"type": 5}`))
	require.Len(t, diags, 1)
	assert.Equal(t, "Unusable schema", diags[0].Summary)
}

func TestPluginConfigAbsent(t *testing.T) {
	cfg := parse(t, "agent.hcl", `plugin "w" { source = "w" }`, LoadOptions{})
	got, diags := cfg.Plugins[0].Config.JSON(nil)
	require.Empty(t, diags)
	assert.Equal(t, "{}", string(got))
	got, _ = PluginConfig{}.JSON(nil)
	assert.Equal(t, "{}", string(got))
	assert.Equal(t, "w", cfg.Plugins[0].Source)
}
