package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How much of the record is kept needs approval, that calls have to be in it does
// not.
func TestRecordBlock(t *testing.T) {
	load := func(text string) (*Config, error) {
		file := filepath.Join(t.TempDir(), "agent.hcl")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		cfg, diags := Load(file, LoadOptions{})
		return cfg, diags.Err()
	}
	cfg, err := load(`record {
		keep = "30d"
		size = "1GiB"
		required = true
		ignore = ["*.iso"]
	}`)
	require.NoError(t, err)
	assert.Equal(t, Record{Keep: 720 * time.Hour, Size: 1 << 30, Required: true, Ignore: []string{"*.iso"},
		Pos: cfg.Record.Pos}, cfg.Record)
	assert.Equal(t, Record{Required: true, Pos: cfg.Record.Pos}, cfg.Inert().Record)
	var sets []string
	for _, e := range cfg.Effects() {
		sets = append(sets, e.Block+" "+e.Attribute)
	}
	assert.Equal(t, []string{"record keep", "record size", "record ignore"}, sets)
	cfg, err = load(`record { required = true }`)
	require.NoError(t, err)
	assert.Empty(t, cfg.Effects())
	assert.True(t, cfg.Restrictive())
	other := new(Config)
	other.Restrict(cfg, nil)
	assert.True(t, other.Record.Required, "of a file further up")
	for _, bad := range []string{`keep = "d"`, `keep = "-1d"`, `keep = "0d"`, `keep = "99999999999d"`, `keep = "1 month"`,
		`keep = 30`, `size = "1KiB"`, `size = "x"`, `required = "maybe"`,
		`ignore = ""`, `ignore = [""]`, `sometimes = true`} {
		_, err := load("record {\n" + bad + "\n}")
		assert.Error(t, err, bad)
	}
}
