package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/command/standard"
)

// TestStandardSource: the agent.hcl that a project starts from declares the
// very tools that are there without it.
func TestStandardSource(t *testing.T) {
	cfg, diags := config.Parse("agent.hcl", standard.Source(), config.LoadOptions{})
	require.Empty(t, diags)
	specs := standard.Specs()
	for i := range cfg.Tools {
		plain(&cfg.Tools[i])
	}
	for i := range specs {
		plain(&specs[i])
	}
	assert.Equal(t, specs, cfg.Tools)
}

// plain takes out what is no difference: positions, None for no value, and
// empty lists.
func plain(s *argv.Spec) {
	s.Pos = ""
	for _, list := range [][]argv.Example{s.Examples, s.Rejects} {
		for i := range list {
			list[i].Pos = ""
		}
	}
}

func BenchmarkStandard(b *testing.B) {
	for b.Loop() {
		config.Parse("agent.hcl", standard.Source(), config.LoadOptions{})
	}
}
func BenchmarkSpecs(b *testing.B) {
	for b.Loop() {
		standard.Specs()
	}
}
