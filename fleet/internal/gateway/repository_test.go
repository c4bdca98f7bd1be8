package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepositories(t *testing.T) {
	commit := "@" + strings.Repeat("a", 40)
	for _, c := range []struct{ prefix, asked, gets string }{
		{"https://example.com/", "https://example.com/a/b.git", "https://example.com/a/b.git"},
		{"https://example.com/team-a", "https://example.com/team-a", "https://example.com/team-a"},
		{"https://example.com/team-a/", "HTTPS://Example.com/team-a/x/", "https://example.com/team-a/x"},
		{"https://example.com:8443/team-a", "https://example.com:8443/team-a/x", "https://example.com:8443/team-a/x"},
		{"file:///srv/git", "file:///srv/git/x", "file:///srv/git/x"},
		{"ssh://example.com/team-a/", "ssh://example.com/team-a/x", "ssh://example.com/team-a/x"},
		{"https://example.com/team-a/", "https://example.com/team-a/../team-b/x", ""},
		{"https://example.com/team-a/", "https://example.com/team-a/./x", ""},
		{"https://example.com/team-a/", "https://example.com/team-a/%2e%2e/team-b/x", ""},
		{"https://example.com/team-a/", "https://example.com/team-a/%2E%2E/team-b/x", ""},
		{"https://example.com/team-a/", "https://example.com/team-a//x", ""},
		{"https://example.com/team-a/", `https://example.com/team-a/..\team-b`, ""},
		{"https://example.com/team-a/", "https://example.com/team-a/x?y", ""},
		{"https://example.com/team-a/", "https://example.com/team-a/x#y", ""},
		{"https://example.com/team-a", "https://example.com/team-ab/x", ""},
		{"https://example.com/team-a", "https://example.com/", ""},
		{"https://example.com/", "https://example.com.evil/x", ""},
		{"https://example.com/", "https://example.com@evil/x", ""},
		{"https://example.com/", "https://user@example.com/x", ""},
		{"https://example.com/", "https://example.com:8443/x", ""},
		{"https://example.com/", "http://example.com/x", ""},
		{"https://example.com/", "ext::sh -c x", ""},
		{"https://example.com/", "-uhttps://example.com/x", ""},
		{"file:///srv/git", "file://example.com/srv/git/x", ""},
		{"file:///srv/git", "file:/srv/git/x", ""},
		{"file:///srv/git", "file:", ""},
	} {
		prefix, err := parseRepository(c.prefix)
		require.NoError(t, err)
		tenant := &Tenant{Name: "a", git: []repository{prefix}}
		got, err := tenant.repository(c.asked + commit)
		if c.gets == "" {
			assert.Error(t, err, c.asked)
			continue
		}
		require.NoError(t, err, c.asked)
		assert.Equal(t, c.gets+commit, got)
		for _, bad := range []string{"", "@main", "@" + strings.Repeat("a", 39), commit + " --upload-pack=x"} {
			_, err := tenant.repository(c.asked + bad)
			assert.Error(t, err, bad)
		}
	}
}

func TestLoadNamesAllMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		names []string
	}{
		"syntax": {"workspace \"a\" {\n  empty = true\n  emtpy = true\n  gti = \"x\"\n}\n",
			[]string{"fleet.hcl:3: ", "emtpy", "fleet.hcl:4: ", "gti"}},
		"meaning": {`workspace "a" {}
tenant "x" {
  token_env  = "NOT_SET_FOR_THIS_TEST"
  expires    = "tomorrow"
  workspaces = ["b"]
  git        = ["https://example.com", "https://example.com/a/../b", "https://example.com/"]
}
tenant "y" {
  claims = { sub = "a" }
}
`, []string{`workspace "a": set one of`, `tenant "x": its token must be`, "expires: ", `there is no workspace "b"`,
			`"https://example.com" has no slash after the host`, `the part ".." of the path`,
			`tenant "y": it has claims, but the file has no oauth block`}},
		"empty":   {"", []string{"names no workspace"}},
		"missing": {"-", []string{"no such file", "--fleet-config"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "fleet.hcl")
			if c.text != "-" {
				require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			}
			_, err := Load(file)
			require.Error(t, err)
			for _, part := range c.names {
				assert.Contains(t, err.Error(), part)
			}
			assert.NotContains(t, err.Error(), "<nil>")
		})
	}
}
