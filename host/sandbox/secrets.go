package sandbox

import (
	"os"
	"path/filepath"
)

// secretsInHome are files and directories that hold keys, tokens, passwords
// or histories.
var secretsInHome = [...]string{
	".ssh", ".aws", ".azure", ".gnupg", ".config", ".docker", ".kube", ".netrc", "_netrc", ".git-credentials", ".npmrc",
	".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".boto", ".s3cfg", ".vault-token", ".terraform.d", ".terraformrc",
	".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".local/state", ".cargo/credentials",
	".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
	".mozilla", ".thunderbird", ".pki", ".cert", ".oci", ".fly", ".databricks", ".snowflake", ".ngrok2", ".step",
	".claude", ".claude.json", ".codex", ".gemini", ".copilot", ".cursor", ".continue", ".anthropic", ".openai",
	".bash_history", ".zsh_history", ".history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
	".sqlite_history", ".lesshst", ".viminfo", ".wget-hsts", ".Xauthority", ".ICEauthority",
	"Library/Keychains", "Library/Application Support", "Library/Cookies",
}

// harmlessInHome lie in one of the above, hold none, and change how builds
// work.
var harmlessInHome = [...]string{
	".config/git/config", ".config/git/ignore", ".config/git/attributes", ".config/go/env",
}

// secretsInSystem can be read by the root user even without any rights beyond
// a user's.
var secretsInSystem = [...]string{
	"/root", "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private",
	"/etc/krb5.keytab", "/etc/NetworkManager/system-connections", "/etc/kubernetes", "/etc/docker/key.json",
	"/var/lib/docker", "/var/lib/kubelet", "/var/lib/containerd", "/boot", "/run/secrets", "/run/credentials",
	"/var/run/secrets", "/var/spool/cron", "/var/log", "/var/mail", "/var/backups", "/var/lib/cloud",
}

// Secrets lists what is masked for a user with that home directory: those of
// the known places of secrets that exist, with symlinks followed. The homes of
// others are among them, as far as they can be entered.
func Secrets(home string) []string {
	var found []string
	add := func(path string) {
		if !readable(path) {
			return
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, real)
		}
	}
	if home != "" {
		for _, name := range secretsInHome {
			add(filepath.Join(home, name))
		}
	}
	for _, path := range secretsInSystem {
		if path != home {
			add(path)
		}
	}
	homes, _ := os.ReadDir("/home")
	for _, entry := range homes {
		if path := filepath.Join("/home", entry.Name()); path != home && entry.Name() != "linuxbrew" {
			add(path)
		}
	}
	return found
}

// readable reports whether there is something at path that could be read.
func readable(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return true
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	_ = file.Close()
	return true
}

// homeDirectory is the user's, "" when it is not known.
func homeDirectory() string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		return real
	}
	return filepath.Clean(home)
}
