package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNetworkOfBlocks(t *testing.T) {
	const src = `sandbox {
  network = ["a.example"]
}
variable "hosts" {
  default = "allow"
}
tool "inherits" {
  description = "Inherits."
  command { argv = ["x"] }
}
tool "lists" {
  description = "Lists."
  network     = ["*.example.org:8443", "localhost:5432"]
  command { argv = ["x"] }
}
tool "denies" {
  description = "Denies."
  network     = "deny"
  command { argv = ["x"] }
}
tool "allows" {
  description = "Allows."
  network     = "allow"
  command { argv = ["x"] }
}
tool "refers" {
  description = "Refers."
  network     = var.hosts
  command { argv = ["x"] }
}
tool "asks" {
  description = "Asks."
  network     = "ask"
  command { argv = ["x"] }
}
tool "asks_too" {
  description = "Asks about others."
  network     = ["a.example", "ask"]
  command { argv = ["x"] }
}
tool "joins" {
  description = "Joins."
  network     = concat(["a.example"], ["b.example"])
  command { argv = ["x"] }
}
`
	cfg, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: noEnv})
	require.Empty(t, diags)
	for i, want := range []Access{
		{Hosts: []string{"a.example"}},
		{Hosts: []string{"*.example.org:8443", "localhost:5432"}},
		{},
		{Network: true},
		{Network: true},
		{Hosts: []string{"ask"}},
		{Hosts: []string{"a.example", "ask"}},
		{Hosts: []string{"a.example", "b.example"}},
	} {
		got := cfg.Tools[i].Access
		got.Read, got.Write = nil, nil
		assert.Equal(t, want, got, cfg.Tools[i].Name)
	}
	for i, want := range []bool{false, true, false, true, true, true, true, true} {
		assert.Equal(t, want, cfg.grants(cfg.Tools[i].Access, nil), cfg.Tools[i].Name)
	}
	text := strings.Join(cfg.Grants(), "\n")
	for _, want := range []string{
		`tool "inherits" runs x, reaching a.example`,
		`tool "lists" runs x, reaching *.example.org:8443 localhost:5432`,
		`tool "allows" runs x, with network`,
		`tool "refers" runs x, with network`,
		`tool "asks" runs x, reaching the hosts that you allow when asked`,
		`tool "asks_too" runs x, reaching a.example, and what you allow when asked`,
		`tool "joins" runs x, reaching a.example b.example`,
		`sandbox at level auto, reaching a.example`,
	} {
		assert.Contains(t, text, want)
	}
}
