package sandbox

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEnvironment(t *testing.T) {
	g := grants{writable: []string{"/proj"}, cache: "/proj/.agent/cache/sandbox"}
	tests := map[string]struct {
		policy    Policy
		level     Level
		grants    grants
		env, want []string
	}{
		"full": {level: Full, grants: g,
			env: []string{"A=b", "TMPDIR=/home/u/tmp", "GOCACHE=/home/u/.cache/go-build", "SSH_AUTH_SOCK=/run/x", "XDG_RUNTIME_DIR=/run/user/1"},
			want: []string{"A=b", "TMPDIR=/tmp", "GOCACHE=/proj/.agent/cache/sandbox/go-build",
				"XDG_CACHE_HOME=/proj/.agent/cache/sandbox/xdg", "npm_config_cache=/proj/.agent/cache/sandbox/npm"}},
		"landlock": {level: Landlock, grants: g,
			want: []string{"TMPDIR=/proj/.agent/cache/sandbox/tmp", "GOCACHE=/proj/.agent/cache/sandbox/go-build",
				"XDG_CACHE_HOME=/proj/.agent/cache/sandbox/xdg", "npm_config_cache=/proj/.agent/cache/sandbox/npm"}},
		"what is writable stays": {level: Full, grants: g,
			env:  []string{"GOCACHE=/proj/cache", "TMPDIR=/tmp/mine", "XDG_CACHE_HOME=/proj/x", "npm_config_cache=/proj/n"},
			want: []string{"GOCACHE=/proj/cache", "TMPDIR=/tmp/mine", "XDG_CACHE_HOME=/proj/x", "npm_config_cache=/proj/n"}},
		"no workspace": {level: Full,
			want: []string{"TMPDIR=/tmp", "GOCACHE=/tmp/.go-build", "XDG_CACHE_HOME=/tmp/.cache", "npm_config_cache=/tmp/.npm"}},
		"network": {level: Full, grants: g, policy: Policy{Network: true},
			env: []string{"GOPATH=/home/u/go", "GOPROXY=https://proxy.example"},
			want: []string{"GOPATH=/home/u/go", "TMPDIR=/tmp", "GOCACHE=/proj/.agent/cache/sandbox/go-build",
				"XDG_CACHE_HOME=/proj/.agent/cache/sandbox/xdg", "npm_config_cache=/proj/.agent/cache/sandbox/npm",
				"GOMODCACHE=/proj/.agent/cache/sandbox/go-mod",
				"GOPROXY=file:///home/u/go/pkg/mod/cache/download,https://proxy.example"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, []string(test.policy.environment(test.env, test.grants, test.level)))
		})
	}
}

func TestSecretsThatExist(t *testing.T) {
	assert.Empty(t, existing([]string{"/no/such/place"}))
	for _, path := range Secrets(t.TempDir()) {
		assert.True(t, readable(path), path)
	}
}
