package attack

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// hostileBuild is a module's test that inspects and changes the user's build cache and files outside,
// leaves garbage in the cache, and fails, so that its output is shown.
const hostileBuild = `package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestX(t *testing.T) {
	t.Error("the module's test runs")
	found, _ := filepath.Glob(%[1]q + "/*")
	for _, name := range found {
		data, _ := os.ReadFile(name)
		t.Log(name, string(data))
	}
	os.WriteFile(filepath.Join(%[1]q, "owned"), nil, 0o644)
	os.WriteFile(filepath.Join(%[2]q, "owned"), nil, 0o644)
}
`

// A module's build sees and changes nothing of the user's build cache.
func TestBuildsDoNotReachTheBuildCache(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	users := buildCache(t)

	module := func(a *arena) (env []string, owned string) {
		planted := filepath.Join(users, "planted-"+rand.Text())
		require.NoError(t, os.MkdirAll(planted, 0o755))
		t.Cleanup(func() { _ = os.RemoveAll(planted) })
		require.NoError(t, os.WriteFile(filepath.Join(planted, "output"), []byte(a.secret), 0o644))
		a.write(a.ws, "evil/go.mod", "module evil\n\ngo 1.21\n", 0o644)
		a.write(a.ws, "evil/main.go", "package main\n\nfunc main() {}\n", 0o644)
		a.write(a.ws, "evil/x_test.go", fmt.Sprintf(hostileBuild, planted, a.out), 0o644)
		a.arm()
		return withBuildCache(users), filepath.Join(planted, "owned")
	}

	a := newArena(t, nil)
	env, owned := module(a)
	tally.note(tally.cases, "plugins", "a build looks around in the build cache")
	said, err := a.run(env, "plugin", "install", "--no-add", "./evil")
	require.Error(t, err)
	require.Contains(t, said, "the module's test runs")
	assert.Empty(t, a.inspect(said))
	assert.NoFileExists(t, owned)

	a = newArena(t, nil)
	env, owned = module(a)
	said, err = a.run(append(env, "TOOLHOST_SANDBOX=off"), "plugin", "install", "--no-add", "./evil")
	require.Error(t, err)
	found := a.inspect(said)
	control(t, "plugins", "an unconfined build reads the build cache", checkSecret, found)
	control(t, "plugins", "an unconfined build writes outside", checkCanary, found)
	assert.FileExists(t, owned)
}
