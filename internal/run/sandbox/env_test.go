package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestEnvironment(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	g := grants{writable: []string{"/proj"}, cache: "/proj/.agent/cache/sandbox"}
	tests := map[string]struct {
		policy    Policy
		level     Level
		grants    grants
		env, want []string
	}{
		"full": {level: Full, grants: g,
			env: []string{"A=b", "TMPDIR=/home/u/tmp", "GOCACHE=/home/u/.cache/go-build", "SSH_AUTH_SOCK=/run/x",
				"XDG_RUNTIME_DIR=/run/user/1"},
			want: []string{"A=b", "TMPDIR=/tmp", "GOCACHE=/proj/.agent/cache/sandbox/go-build",
				"XDG_CACHE_HOME=/proj/.agent/cache/sandbox/xdg", "npm_config_cache=/proj/.agent/cache/sandbox/npm"}},
		"landlock": {level: Landlock, grants: g,
			want: []string{"TMPDIR=/proj/.agent/cache/sandbox/tmp", "GOCACHE=/proj/.agent/cache/sandbox/go-build",
				"XDG_CACHE_HOME=/proj/.agent/cache/sandbox/xdg", "npm_config_cache=/proj/.agent/cache/sandbox/npm"}},
		"what is writable stays": {level: Full, grants: g,
			env: []string{"GOCACHE=/proj/cache", "TMPDIR=/proj/tmp", "XDG_CACHE_HOME=/proj/x",
				"npm_config_cache=/proj/n"},
			want: []string{"GOCACHE=/proj/cache", "TMPDIR=/proj/tmp", "XDG_CACHE_HOME=/proj/x",
				"npm_config_cache=/proj/n"}},
		"a private directory stays": {level: Full,
			env:  []string{"TMPDIR=/var/tmp/", "GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n"},
			want: []string{"TMPDIR=/var/tmp/", "GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n"}},
		"what a private directory does not have": {level: Full,
			env:  []string{"TMPDIR=/tmp/mine", "GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n"},
			want: []string{"GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n", "TMPDIR=/tmp"}},
		"ssh's agent by its name": {level: Full, policy: Policy{ReadWrite: []string{"/run/agent"}},
			env: []string{"TMPDIR=/tmp", "GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n", "SSH_AUTH_SOCK=/run/agent"},
			want: []string{"TMPDIR=/tmp", "GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n",
				"SSH_AUTH_SOCK=/run/agent"}},
		"ssh's agent by a directory above": {level: Full, policy: Policy{ReadWrite: []string{"/run"}},
			env:  []string{"TMPDIR=/tmp", "GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n", "SSH_AUTH_SOCK=/run/agent"},
			want: []string{"TMPDIR=/tmp", "GOCACHE=/tmp/g", "XDG_CACHE_HOME=/tmp/x", "npm_config_cache=/tmp/n"}},
		"no workspace": {level: Full,
			want: []string{"TMPDIR=/tmp", "GOCACHE=/tmp/.go-build", "XDG_CACHE_HOME=/tmp/.cache",
				"npm_config_cache=/tmp/.npm"}},
		"network": {level: Full, grants: g, policy: Policy{Network: true},
			env: []string{"GOPATH=/home/u/go", "GOPROXY=https://proxy.example"},
			want: []string{"GOPATH=/home/u/go", "TMPDIR=/tmp", "GOCACHE=/proj/.agent/cache/sandbox/go-build",
				"XDG_CACHE_HOME=/proj/.agent/cache/sandbox/xdg", "npm_config_cache=/proj/.agent/cache/sandbox/npm",
				"GOMODCACHE=/proj/.agent/cache/sandbox/go-mod", "GOPROXY=https://proxy.example",
				"GOFLAGS=-modcacherw"}},
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	require.NoError(t, os.MkdirAll(filepath.Join(home, "go/pkg/mod/cache/download"), 0o755))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := variables(test.policy.environment(test.env, test.grants, test.level))
			assert.Equal(t, !test.policy.Network, got.get("PIP_RETRIES") == "0", "what fails anyway fails fast")
			got.drop("npm_config_fetch_retries", "PIP_RETRIES", "CARGO_NET_RETRY", "UV_HTTP_RETRIES", "BUNDLE_RETRY")
			assert.Equal(t, test.want, []string(got))
		})
	}
}

func TestFailFast(t *testing.T) {
	e := variables{"PIP_RETRIES=3"}
	e.failFast()
	assert.Equal(t, "3", e.get("PIP_RETRIES"))
	assert.Equal(t, "0", e.get("npm_config_fetch_retries"))
}

func TestSecretsThatExist(t *testing.T) {
	assert.Empty(t, existing([]string{"/no/such/place"}))
	for _, path := range secretsFor(t.TempDir(), make(realpath.Memo)) {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		// A directory that cannot be listed may be accessible.
		assert.True(t, info.IsDir() || info.Mode().IsRegular() && readable(path), path)
		real, err := filepath.EvalSymlinks(path)
		require.NoError(t, err)
		assert.Equal(t, real, path)
	}
}

// TestOwnSecrets finds toolhost's own, in the user's configuration wherever that is, and each place once.
func TestOwnSecrets(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	for _, config := range []string{".config", "elsewhere"} {
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, config))
		base, err := os.UserConfigDir()
		require.NoError(t, err)
		own := filepath.Join(base, "toolhost")
		assert.NotContains(t, secretsFor(home, make(realpath.Memo)), own, "what does not exist")
		require.NoError(t, os.MkdirAll(own, 0o700))
		covering := 0
		for _, path := range secretsFor(home, make(realpath.Memo)) {
			if rel, err := filepath.Rel(path, own); err == nil && filepath.IsLocal(rel) {
				covering++
			}
		}
		assert.Equal(t, 1, covering, own)
	}
}

// Below /sys nothing can be made, as in a read-only workspace.
func TestNoCacheInAReadOnlyWorkspace(t *testing.T) {
	testneed.OnlyOn(t, "linux", "there is no /sys")
	const readOnly = "/sys"
	p := Policy{Workspace: readOnly}
	dir, err := p.cache([]string{readOnly})
	require.NoError(t, err)
	assert.Empty(t, dir, "the caches go where temporary files do")
	p.CacheDir = filepath.Join(readOnly, "chosen")
	_, err = p.cache([]string{readOnly})
	assert.ErrorContains(t, err, "cannot be made: mkdir "+p.CacheDir, "what was asked for is no less than that")
}

// Modules fetched by a command with network are seen without it, and the user's are not fetched again.
func TestGoModules(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b#c?%41")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Setenv("HOME", dir)
	t.Setenv("PATH", dir)
	users, work := filepath.Join(dir, "go", "pkg", "mod"), filepath.Join(dir, "project")
	other := GrantedCache(work, "tool-other")
	own := filepath.Join(work, ".agent", "cache", "sandbox")
	downloads := func(cache string) string {
		path := filepath.Join(cache, "cache", "download")
		require.NoError(t, os.MkdirAll(path, 0o700))
		return "file://" + strings.NewReplacer(" ", "%20", "#", "%23", "?", "%3F", "%", "%25").Replace(path)
	}
	modules := func(p Policy, cache string, env ...string) []string {
		e := variables(env)
		p.Workspace = work
		p.goModules(&e, cache, []string{work})
		return e
	}
	assert.Equal(t, []string{"GOMODCACHE=" + own + "/go-mod", "GOPROXY=off", "GOFLAGS=-modcacherw"}, modules(Policy{}, own),
		"nothing is there: go says that it looks nothing up, and not that a directory of the home is missing")
	fromUser := downloads(users)
	assert.Empty(t, modules(Policy{}, own), "the user's are used in their place")
	assert.Equal(t, []string{"GOMODCACHE=" + own + "/go-mod", "GOPROXY=" + fromUser + ",https://proxy.example",
		"GOFLAGS=-mod=mod -modcacherw"},
		modules(Policy{Hosts: []string{"proxy.example"}}, own, "GOPROXY=https://proxy.example", "GOFLAGS=-mod=mod"))
	fetched := downloads(filepath.Join(other, "go-mod"))
	assert.Equal(t, []string{"GOMODCACHE=" + own + "/go-mod", "GOPROXY=" + fromUser + "," + fetched + ",off",
		"GOFLAGS=-modcacherw"}, modules(Policy{}, own))
	granted := GrantedCache(work, "tool-this")
	assert.Equal(t, []string{"GOMODCACHE=" + granted + "/go-mod", "GOPROXY=" + fromUser + ",direct", "GOFLAGS=-modcacherw"},
		modules(Policy{Network: true, CacheDir: granted}, granted), "another grant's are not taken")
}
