package pluginlock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/pluginlock"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/install"
)

// open opens the lock of an agent.hcl in dir; nothing is installed.
func open(t *testing.T, dir string) *pluginlock.Lock {
	t.Helper()
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	lock, diags := pluginlock.Open(filepath.Join(dir, "agent.hcl"))
	require.NoError(t, diags.Err())
	return lock
}

func TestAProgramIsPinned(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(program, []byte("one"), 0o755))
	plugin := config.Plugin{Name: "weather", Source: program}

	lock := open(t, dir)
	assert.Equal(t, "not locked", lock.State(plugin))
	_, err := lock.Verify(plugin)
	assert.ErrorContains(t, err, "is not locked")
	entry, installed, err := lock.Pin(plugin)
	require.NoError(t, err)
	assert.Nil(t, installed)
	require.NoError(t, lock.Write())

	again := open(t, dir)
	assert.Equal(t, "locked", again.State(plugin))
	assert.Equal(t, entry.SHA256, again.Entry("weather").SHA256)
	_, err = again.Verify(plugin)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, []byte("two"), 0o755))
	_, err = again.Verify(plugin)
	assert.Equal(t, tool.Blocked, tool.CodeOf(err))

	again.Keep(nil)
	assert.Nil(t, again.Entry("weather"))
}

// A lock made only on other platforms prevents the program from running.
func TestALockWithoutThisPlatformBlocks(t *testing.T) {
	dir := t.TempDir()
	text := `plugin "weather" { sha256 = { plan9_mips = "` + plainSum + `" } }`
	require.NoError(t, os.WriteFile(filepath.Join(dir, config.LockName), []byte(text), 0o600))
	spec := plugins.Spec{Name: "weather", Path: "/bin/true"}
	open(t, dir).Resolve(config.Plugin{Name: "weather", Source: "/bin/true"}, &spec)
	require.NotNil(t, spec.Problem)
	assert.Equal(t, tool.Blocked, spec.Problem.Code)
	assert.Contains(t, spec.Problem.Message, install.Platform())
}

const plainSum = "0000000000000000000000000000000000000000000000000000000000000001"

func TestAnOriginWithinTheProjectIsRelativeToIt(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	for name, tt := range map[string]struct{ from, kept string }{
		"inside":  {filepath.Join(dir, "dist", "p.zip"), "./dist/p.zip"},
		"outside": {filepath.Join(elsewhere, "p.zip"), filepath.Join(elsewhere, "p.zip")},
		"address": {"https://127.0.0.1/p.zip", "https://127.0.0.1/p.zip"},
	} {
		t.Run(name, func(t *testing.T) {
			lock := open(t, dir)
			lock.Set("weather", &install.Installed{Manifest: install.Manifest{Version: "1.0.0", SHA256: plainSum,
				From: tt.from}}, "~> 1")
			entry := lock.Entry("weather")
			assert.Equal(t, tt.kept, entry.From)
			assert.Equal(t, tt.from, lock.Origin(entry))
		})
	}
}

// The checksums of other platforms are for one version.
func TestANewVersionDropsOtherPlatforms(t *testing.T) {
	lock := open(t, t.TempDir())
	found := &install.Installed{Manifest: install.Manifest{Version: "1.0.0", SHA256: plainSum,
		From: "https://127.0.0.1/p.zip"}}
	lock.Set("weather", found, "")
	lock.Entry("weather").SHA256["plan9_mips"] = plainSum
	lock.Set("weather", found, "")
	assert.Contains(t, lock.Entry("weather").SHA256, "plan9_mips")
	found.Version = "1.1.0"
	lock.Update("weather", found, "")
	assert.NotContains(t, lock.Entry("weather").SHA256, "plan9_mips")
}
