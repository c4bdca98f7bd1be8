package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	for _, bad := range []string{`keep = "d"`, `keep = "-1d"`, `keep = "0d"`, `keep = "99999999999d"`, `keep = "1 month"`,
		`keep = 30`, `size = "1KiB"`, `size = "x"`, `required = "maybe"`,
		`ignore = ""`, `ignore = [""]`, `sometimes = true`} {
		_, err := load("record {\n" + bad + "\n}")
		assert.Error(t, err, bad)
	}
}
