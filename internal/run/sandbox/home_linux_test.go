package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// knownSecretsInHome are files in which programs keep keys, tokens or histories.
var knownSecretsInHome = []string{
	".ssh/id_ed25519", ".aws/credentials", ".netrc", ".npmrc", ".pypirc", ".docker/config.json", ".kube/config",
	".cargo/credentials.toml", ".config/gh/hosts.yml", ".bash_history", ".databrickscfg", ".google_authenticator",
	".authinfo", ".mylogin.cnf", ".dbt/profiles.yml", ".bundle/config", ".local/share/fish/fish_history", ".zhistory",
	".mcp-auth/token", ".cloudflared/cert.pem", ".acme.sh/account.conf", ".tsh/key", ".foundry/keystores/main",
	".local/share/com.vercel.cli/auth.json", ".local/share/mkcert/rootCA-key.pem", ".codeium/config.json",
	".cf/config.json", ".jfrog/config", ".minikube/ca.key", ".op/config", ".aliyun/config.json",
	".npm-global/etc/npmrc", ".near-credentials/key.json", ".composer/auth.json", ".gradle/gradle.properties", ".m2/settings.xml",
	"Documents/taxes.txt", "notes.txt", "other-project/.env", "go/src/private/key.go",
}

// shownFiles are what builds need of a home directory.
var shownFiles = []string{
	".gitconfig", ".config/git/ignore", "go/bin/tool", "go/pkg/mod/cache/x", ".cargo/bin/cargo", ".rustup/settings.toml",
	".nvm/versions/node/bin", ".pyenv/shims/python", ".local/bin/tool", ".local/lib/python3/x.py", ".rbenv/version",
	".sdkman/candidates/java", ".m2/repository/x.jar", "tools/bin/mine",
}

// newHome makes a home directory outside of /tmp, which is hidden anyway.
func newHome(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	home, err := os.MkdirTemp(here, "home-of-a-test-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(home)) })
	home, err = filepath.EvalSymlinks(home)
	require.NoError(t, err)
	t.Setenv("HOME", home)
	return home
}

// A confined process sees only what is listed of the home directory.
func TestHomeIsAnAllowlist(t *testing.T) {
	home := newHome(t)
	t.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Join(home, "tools", "bin"))
	t.Chdir("/")
	for _, name := range append(knownSecretsInHome, shownFiles...) {
		path := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("["+name+"]"), 0o644))
	}
	// Dotfiles are often links into a repository, which stays hidden.
	require.NoError(t, os.MkdirAll(filepath.Join(home, "dotfiles"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "dotfiles", "inputrc"), []byte("[.inputrc]"), 0o644))
	require.NoError(t, os.Symlink("dotfiles/inputrc", filepath.Join(home, ".inputrc")))
	work := filepath.Join(home, "project")
	require.NoError(t, os.MkdirAll(work, 0o755))

	everything := "cd " + home + "; for f in " + strings.Join(append(knownSecretsInHome, shownFiles...), " ") +
		" .inputrc dotfiles/inputrc; do cat $f 2>/dev/null; done"
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		want := "[" + strings.Join(append(shownFiles, ".inputrc"), "][") + "]"
		if level == sandbox.Landlock {
			want += "[.inputrc]" // what is granted has no name there
		}
		r := sh(t, sandbox.Policy{Level: level, Workspace: work}, everything)
		assert.Equal(t, want, r.Stdout.String())
		_ = sh(t, sandbox.Policy{Level: level, Workspace: work}, "echo x > $HOME/new || echo x > $HOME/.gitconfig || "+
			"echo x > $HOME/go/bin/tool || echo x > $HOME/project/new")
		assert.NoFileExists(t, filepath.Join(home, "new"))
		assert.FileExists(t, filepath.Join(work, "new"))
		require.NoError(t, os.Remove(filepath.Join(work, "new")))
		granted := sandbox.Policy{Level: level, Workspace: work, ReadOnly: []string{filepath.Join(home, "Documents")}}
		assert.Equal(t, "[Documents/taxes.txt]", sh(t, granted, "cat $HOME/Documents/taxes.txt $HOME/notes.txt").Stdout.String())
	})
	t.Run("without a sandbox", func(t *testing.T) { // the control
		r := sh(t, sandbox.Policy{Level: sandbox.Off, Workspace: work}, everything)
		for _, name := range append(knownSecretsInHome, shownFiles...) {
			assert.Contains(t, r.Stdout.String(), "["+name+"]")
		}
	})
}

// No hint proposes a grant that opens the home directory, or a place that other programs obey.
func TestHintsOpenNothing(t *testing.T) {
	home := newHome(t)
	for _, dir := range []string{"project", ".local/bin"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	outside, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "data"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	listener, err := net.Listen("unix", filepath.Join(home, "x.sock"))
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "r/.git/hooks"), 0o755))
	for name, c := range map[string]struct{ printed, want, not string }{
		"the home directory itself": {"mkdir: cannot create directory '" + home + "': Permission denied",
			"Grant by its own name", "= ["},
		"a file in it":               {"open " + home + "/.xrc: permission denied", `read = ["` + home + `/.xrc"]`, "write"},
		"a directory above it":       {"touch " + filepath.Dir(home) + "/x: Read-only file system", "", "= ["},
		"ssh without its files":      {"Host key verification failed.", "toolhost add git-push", "id_"},
		"the root":                   {"touch /x: Read-only file system", "$TMPDIR", "= ["},
		"hooks of a repository":      {"touch " + outside + "/r/.git/hooks/x: Read-only file system", "$TMPDIR", "= ["},
		"a directory of PATH":        {"touch " + home + "/.local/bin/x: Read-only file system", "", "= ["},
		"one of the system":          {"touch /usr/local/bin/x: Read-only file system", "$TMPDIR", "= ["},
		"a plain directory":          {"touch " + outside + "/data/x: Read-only file system", "$TMPDIR", "= ["},
		"a relative path":            {"touch .git/hooks/x: Read-only file system", "$TMPDIR", "= ["},
		"what is shown is read-only": {"touch " + home + "/.gitconfig: Permission denied", "", "write"},
		"a place of secrets":         {"ls: cannot open directory '" + home + "/.ssh': Permission denied", "place of secrets", "= ["},
		"one that is not there yet":  {"touch " + home + "/.aws/x: Permission denied", "place of secrets", "= ["},
		"a socket":                   {"dial unix " + home + "/x.sock: connection refused", "hides the unix socket", "= ["},
		"a socket that is not named": {"ConnectionRefusedError: connection refused", "network = ", "write"},
	} {
		t.Run(name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T, level sandbox.Level) {
				p := sandbox.Policy{Level: level, Workspace: filepath.Join(home, "project"), NoCache: true}
				said := p.Denied("the sandbox block", c.printed)
				assert.Contains(t, said, c.want)
				assert.NotContains(t, said, c.not)
				if said != "" {
					assert.Contains(t, said, "Only the user can change what the sandbox grants")
				}
			})
		})
	}
}

// A hint proposes what the level can enforce: hosts by name only at level full.
func TestHintsFitTheLevel(t *testing.T) {
	newHome(t)
	for level, want := range map[sandbox.Level]string{
		sandbox.Full: `network = ["%s"] in the tool grants it.`, sandbox.Landlock: `network = "allow" in the tool grants all of it; a list`,
	} {
		t.Run(string(level), func(t *testing.T) {
			need(t, level)
			p := sandbox.Policy{Level: level, Workspace: t.TempDir(), NoCache: true}
			listed := p
			if listed.Hosts = []string{"a.example"}; level == sandbox.Full {
				for printed, said := range map[string]bool{
					"curl: (7) Failed to connect to a.example port 22 after 0 ms: Couldn't connect to server": true,
					"dial tcp 10.1.2.3:5432: connect: network is unreachable":                                 true,
					"curl: (6) Could not resolve host: b.example":                                             false,
				} {
					assert.Equal(t, said, strings.Contains(listed.Denied("the tool", printed), "only the hosts and ports of its list. If another port "+
						`or an address is meant: network = ["a.example", "HOST:PORT"] in the tool grants it.`), printed)
				}
			}
			for printed, host := range map[string]string{
				"curl: (6) Could not resolve host: example.org":        "HOST",
				"dial tcp 127.0.0.1:5432: connect: connection refused": "HOST:PORT",
				"Host key verification failed.":                        "github.com:22",
			} {
				assert.Contains(t, p.Denied("the tool", printed), strings.ReplaceAll(want, "%s", host), printed)
			}
		})
	}
}
