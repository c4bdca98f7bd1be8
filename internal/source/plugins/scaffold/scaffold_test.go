package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/scaffold"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	return root
}

// The written module builds, passes its own test and is gofmted, using only the checkout.
func TestModuleBuildsAndPassesItsTest(t *testing.T) {
	testneed.NotShort(t, "builds a plugin")
	dir := filepath.Join(t.TempDir(), "my-plugin")
	written, err := scaffold.Write(t.Context(), scaffold.Options{Name: "my-plugin", Dir: dir, SDK: checkout(t)})
	require.NoError(t, err)
	assert.Equal(t, dir, written)
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	require.NoError(t, err)
	assert.Less(t, strings.Count(string(source), "\n"), 40)
	for _, args := range [][]string{{"go", "vet", "./..."}, {"go", "test", "./..."}, {"gofmt", "-l", "."}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=readonly"),
			"GOWORK=off", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
		if args[0] == "gofmt" {
			assert.Empty(t, string(out))
		}
	}
}

func TestRefusals(t *testing.T) {
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "notes"), nil, 0o644))
	for name, c := range map[string]struct {
		options scaffold.Options
		code    tool.Code
	}{
		"name":      {scaffold.Options{Name: "No Name"}, tool.InvalidArgument},
		"path":      {scaffold.Options{Name: "../up"}, tool.InvalidArgument},
		"not empty": {scaffold.Options{Name: "a", Dir: full}, tool.AlreadyExists},
		"no checkout": {scaffold.Options{Name: "a", Dir: filepath.Join(t.TempDir(), "a"), SDK: full},
			tool.InvalidArgument},
	} {
		_, err := scaffold.Write(t.Context(), c.options)
		assert.Equal(t, c.code, tool.CodeOf(err), name)
	}
	left, err := os.ReadDir(full)
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

// A failure leaves nothing that prevents the next try.
func TestFailureLeavesNothing(t *testing.T) {
	made, missing := t.TempDir(), filepath.Join(t.TempDir(), "a")
	for _, dir := range []string{made, missing} {
		_, err := scaffold.Write(t.Context(), scaffold.Options{Name: "a", Dir: dir, SDK: t.TempDir()})
		require.Error(t, err)
	}
	left, err := os.ReadDir(made)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.NoDirExists(t, missing)
}
