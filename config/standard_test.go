package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/command/standard"
)

// TestStandardSource: the tools that are there without an agent.hcl are those
// that the text of the standard wrappers declares.
func TestStandardSource(t *testing.T) {
	cfg, diags := Parse("agent.hcl", standard.Source(), LoadOptions{})
	require.Empty(t, diags)
	for i := range cfg.Tools {
		cfg.Tools[i].Pos = ""
		for j := range cfg.Tools[i].Examples {
			cfg.Tools[i].Examples[j].Pos = ""
		}
		for j := range cfg.Tools[i].Rejects {
			cfg.Tools[i].Rejects[j].Pos = ""
		}
	}
	if *update {
		data, err := json.Marshal(cfg.Tools)
		require.NoError(t, err)
		var list []any
		require.NoError(t, json.Unmarshal(data, &list))
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		for i, spec := range list {
			text.WriteString([]string{"[", ","}[min(i, 1)])
			require.NoError(t, encoder.Encode(pruned(spec)))
		}
		text.WriteString("]\n")
		require.NoError(t, os.WriteFile(filepath.FromSlash("../internal/source/command/standard/standard.json"),
			text.Bytes(), 0o644))
		return
	}
	assert.Equal(t, cfg.Tools, standard.Specs(), "go test ./config -run TestStandardSource -update")
}

// pruned leaves out fields that have their zero value.
func pruned(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	case map[string]any:
		for name, field := range v {
			switch field := pruned(field); field {
			case nil, "", false, 0.0:
				delete(v, name)
			default:
				v[name] = field
			}
		}
	}
	return v
}

func BenchmarkStandard(b *testing.B) {
	for b.Loop() {
		Parse("agent.hcl", standard.Source(), LoadOptions{})
	}
}
func BenchmarkSpecs(b *testing.B) {
	for b.Loop() {
		standard.Specs()
	}
}
