package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/face/export"
)

// TestExamplesOfTheDocs reads every piece of agent.hcl that docs/CONFIG.md
// shows. Those that stand in a tool are put into one.
func TestExamplesOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/CONFIG.md")
	require.NoError(t, err)
	around := map[string]string{
		"option":        "tool \"x\" {\n  passthrough {\n    command = \"x\"\nHERE\n  }\n}\n",
		"params_schema": "tool \"x\" {\nHERE\n}\n",
		"output": "tool \"x\" {\n  param \"to\" { path = \"write\" }\n" +
			"  params_schema = \"{\\\"type\\\":\\\"object\\\"," +
			"\\\"properties\\\":{\\\"to\\\":{\\\"type\\\":\\\"string\\\"}}," +
			"\\\"required\\\":[\\\"to\\\"]}\"\n  command { argv = [\"x\", param.to] }\nHERE\n}\n",
		"ask": "tool \"x\" {\n  param \"to\" { type = string }\nHERE\n}\n",
	}
	env := func(name string) (string, bool) { return "/home/me", !strings.HasPrefix(name, "TOOLHOST_") }
	shown := regexp.MustCompile("(?ms)^```hcl\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(shown), 10)
	for _, match := range shown {
		text := match[1]
		word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		if frame, ok := around[word]; ok {
			text = strings.Replace(frame, "HERE", text, 1)
		}
		cfg, diags := config.Parse("agent.hcl", []byte(text), config.LoadOptions{Env: env})
		assert.NoError(t, diags.Err(), text)
		for i := range cfg.Tools {
			assert.Empty(t, export.Refused(cfg.Tools[i].Schema()), text)
		}
	}
}
