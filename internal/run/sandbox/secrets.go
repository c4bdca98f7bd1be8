package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/homedir"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// secretsInHome are files and directories with keys, tokens, passwords or histories. They are hidden where the
// whole home directory is not: from file tools, and from processes in a workspace that contains it.
var secretsInHome = [...]string{
	".ssh", ".aws", ".azure", ".gnupg", ".config", ".docker", ".kube", ".netrc", "_netrc", ".git-credentials", ".npmrc",
	".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".boto", ".s3cfg", ".vault-token", ".terraform.d", ".terraformrc",
	".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".local/state", ".cargo/credentials",
	".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml",
	".gradle/gradle.properties",
	".mozilla", ".thunderbird", ".pki", ".cert", ".oci", ".fly", ".databricks", ".snowflake", ".ngrok2", ".step",
	".cache/huggingface/token", ".huggingface", ".kaggle", ".pulumi", ".ollama/id_ed25519", ".rclone.conf",
	".subversion", ".dockercfg", ".composer/auth.json", ".npm-global/etc",
	".bitcoin", ".electrum", ".ethereum", ".putty", ".purple", ".msmtprc", ".smbcredentials", ".sentryclirc",
	".dbshell", ".rediscli_history",
	"snap", ".var/app", ".local/share/opencode/auth.json", ".local/share/amp", ".local/share/crush", ".qwen", ".kiro",
	".cline", ".factory",
	".claude", ".claude.json", ".codex", ".gemini", ".copilot", ".cursor", ".continue", ".anthropic", ".openai",
	".bash_history", ".zsh_history", ".history", ".python_history", ".node_repl_history", ".psql_history",
	".mysql_history",
	".sqlite_history", ".lesshst", ".viminfo", ".wget-hsts", ".Xauthority", ".ICEauthority",
	"Library/Keychains", "Library/Application Support", "Library/Cookies",
}

// secretsInSystem are readable by root even without capabilities.
var secretsInSystem = [...]string{
	"/root", "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private",
	"/etc/krb5.keytab", "/etc/NetworkManager/system-connections", "/etc/kubernetes", "/etc/docker/key.json",
	"/var/lib/docker", "/var/lib/kubelet", "/var/lib/containerd", "/boot", "/run/secrets", "/run/credentials",
	"/var/run/secrets", "/var/spool/cron", "/var/log", "/var/mail", "/var/backups", "/var/lib/cloud",
}

// secretsFor returns what is masked for a user with that home directory: known places of secrets that exist,
// with symlinks resolved, also in other accessible homes.
func secretsFor(home string, memo realpath.Memo) []string {
	s := secretPlaces{memo: memo}
	if home != "" {
		present := make(map[string]bool)
		for _, name := range namesIn(home) {
			present[name] = true
		}
		for _, name := range secretsInHome {
			if first, _, _ := strings.Cut(name, "/"); present[first] {
				s.add(filepath.Join(home, name))
			}
		}
	}
	for _, own := range userdir.Private() {
		if !s.holds(own) {
			s.add(own)
		}
	}
	for _, path := range secretsInSystem {
		if path != home {
			s.add(path)
		}
	}
	for _, name := range namesIn("/home") {
		if path := filepath.Join("/home", name); path != home && name != "linuxbrew" {
			s.add(path)
		}
	}
	for _, other := range otherHomes(home) {
		if ownedByUser(other) {
			s.add(other)
		}
		for _, path := range secretsOf(other) {
			s.add(path)
		}
	}
	return s.found
}

// otherHomes returns the user's home directories besides home. One that belongs to the user is hidden except
// for grants; another may be a directory of the system.
func otherHomes(home string) (others []string) {
	for _, other := range homedir.All() {
		if other = resolved(other); other != home && other != "/" {
			others = append(others, other)
		}
	}
	return others
}

func secretsOf(home string) (paths []string) {
	for _, name := range secretsInHome {
		paths = append(paths, filepath.Join(home, name))
	}
	return paths
}

// knownSecrets returns the places that secretsFor checks, existing or not.
func knownSecrets(home string) (all []string) {
	if home != "" {
		all = secretsOf(home)
	}
	for _, other := range otherHomes(home) {
		all = append(all, secretsOf(other)...)
	}
	all = append(all, userdir.Private()...)
	for _, path := range secretsInSystem {
		if path != home {
			all = append(all, path)
		}
	}
	return all
}

// HoldsSecrets reports whether a real path is, or lies in, a known place of secrets.
func HoldsSecrets(path string) bool {
	return slices.ContainsFunc(knownSecrets(homeDirectory()),
		func(secret string) bool { return realpath.Below(path, secret) })
}

// secretPlaces collects places. Every confined process pays for the search, so the file system is asked only
// once.
type secretPlaces struct {
	found []string
	memo  realpath.Memo
}

// add adds a directory that may be entered, even if it cannot be listed, or a file that can be read.
func (s *secretPlaces) add(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	real := filepath.Join(s.parent(filepath.Dir(path)), filepath.Base(path))
	if info.Mode()&os.ModeSymlink != 0 {
		if real, err = filepath.EvalSymlinks(path); err != nil {
			return
		}
		if info, err = os.Lstat(real); err != nil {
			return
		}
	}
	if info.IsDir() || readable(real) {
		s.found = append(s.found, real)
	}
}

func (s *secretPlaces) holds(path string) bool {
	path = filepath.Join(s.parent(filepath.Dir(path)), filepath.Base(path))
	for _, place := range s.found {
		if rel, err := filepath.Rel(place, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// claim makes those of toolhost's own directories that a command could otherwise make in a writable tree.
func claim(writable []string) error {
	for _, dir := range userdir.Private() {
		if _, err := os.Lstat(dir); err == nil || !changeable(dir, writable) {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return tool.Errorf(tool.Unavailable, "the directory %s cannot be made before a command could make it: %w",
				dir, err).Suggest("Make it, with mode 0700.")
		}
	}
	return nil
}

// changeable reports whether path, or a directory above it, lies in one of the trees.
func changeable(path string, trees []string) bool {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if slices.ContainsFunc(trees, func(tree string) bool { return realpath.Within(path, tree) }) {
			return true
		}
	}
	return false
}

func (s *secretPlaces) parent(dir string) string {
	if real, err := s.memo.Of(dir); err == nil {
		return real
	}
	return dir
}

func namesIn(dir string) []string {
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	names, _ := file.Readdirnames(-1)
	return names
}

func readable(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	_ = file.Close()
	return true
}

// homeDirectory returns the user's home directory, "" if unknown.
func homeDirectory() string {
	homes := homedir.All()
	if len(homes) == 0 {
		return ""
	}
	return resolved(homes[0])
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
