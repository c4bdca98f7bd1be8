package danger

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/policy"
)

// ruleForTools gives the rule for programs of developers, nil for those that
// are fine.
func ruleForTools(name string) rule {
	switch name {
	case "git":
		return git
	case "hg", "svn", "jj":
		return anyWord("throws changes away", `^(purge|strip|revert|delete|abandon|rollback)$`)
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose":
		return containers
	case "kubectl", "oc", "k":
		return words("changes the cluster", "delete|drain|replace|cordon|evict")
	case "helm":
		return words("removes a release", "uninstall|delete|del|un|rollback")
	case "terraform", "tofu", "terragrunt", "pulumi", "cdk", "vagrant", "ansible-playbook", "serverless", "sls":
		return words("changes what is deployed", "destroy|apply|up|deploy|remove|taint|rm|force-unlock|delete")
	case "aws", "gcloud", "az", "gsutil", "s3cmd", "mc", "doctl", "heroku", "flyctl", "fly", "rclone", "linode-cli", "wrangler":
		return anyWord("removes things in the cloud", `^(rm|rb|rmdir|del|delete|delete-.*|terminate-.*|terminate|destroy|apps:destroy|pg:reset|purge|purge-.*|remove|remove-.*|sync|deletefile|cleanup)$`)
	case "gh", "glab":
		return hub
	case "npm", "pnpm", "yarn", "bun":
		return words("publishes or withdraws a package", "publish|unpublish|deprecate|dist-tag|owner|access")
	case "cargo":
		return words("publishes or withdraws a package", "publish|yank|owner")
	case "gem", "twine", "poetry", "uv", "flit", "hatch":
		return words("publishes or withdraws a package", "push|yank|upload|publish|uninstall")
	case "pip", "pip3", "conda", "mamba", "brew", "snap", "flatpak", "dnf", "yum", "apt", "apt-get", "aptitude", "zypper", "apk", "port", "choco", "winget", "scoop":
		return words("removes packages", "uninstall|remove|purge|autoremove|autoclean|erase|rm|del|dist-upgrade|full-upgrade|zap")
	case "dpkg", "rpm":
		return withOption("removes packages", "-r", "-P", "--remove", "--purge", "-e", "--erase")
	case "pacman":
		return anyWord("removes packages", `^-R|^--remove`)
	case "psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "cockroach", "clickhouse-client", "duckdb", "bq":
		return queries
	case "mongo", "mongosh":
		return anyWord("deletes data", `(?i)drop|delete|remove|flush`)
	case "redis-cli", "valkey-cli":
		return anyWord("deletes data", `(?i)^(flushall|flushdb|del|unlink|shutdown)$`)
	case "dropdb", "dropuser":
		return always("deletes a database")
	case "mysqladmin":
		return words("deletes a database", "drop|shutdown|kill")
	case "curl", "http", "https", "xh":
		return requests
	case "gpg", "gpg2":
		return anyWord("deletes keys", `^--delete`)
	}
	return nil
}

// git judges what throws work away or rewrites what others have.
func git(j *judge, c *policy.Command) (Class, string) {
	j.gitAliases(c)
	args := operands(c, "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "-m", "--message", "-F", "--file", "--author", "--date", "-o", "--push-option")
	if len(args) == 0 {
		return Fine, ""
	}
	rest := texts(args[1:])
	switch args[0].Text {
	case "push":
		return gitPush(c, rest)
	case "reset":
		return option(c, "throws changes away", "--hard", "--merge", "--keep")
	case "clean":
		if c.Has("-n", "--dry-run") {
			return Fine, ""
		}
		return Caution, "deletes files that git does not know"
	case "checkout", "switch":
		if c.Has("-f", "--force", "--discard-changes") || slices.Contains(c.Texts(), "--") || slices.Contains(rest, ".") {
			return Caution, "throws changes away"
		}
	case "restore":
		if c.Has("-S", "--staged") && !c.Has("-W", "--worktree") {
			return Fine, ""
		}
		return Caution, "throws changes away"
	case "rm":
		if c.Has("--cached", "-n", "--dry-run") {
			return Fine, ""
		}
		return Caution, "deletes files"
	case "branch":
		return option(c, "deletes or overwrites a branch", "-D", "-d", "--delete", "-f", "--force", "-M")
	case "tag":
		return option(c, "deletes or moves a tag", "-d", "--delete", "-f", "--force")
	case "stash":
		return wordAfter(rest, "throws stashed changes away", "drop", "clear")
	case "worktree":
		return wordAfter(rest, "removes a worktree", "remove", "prune")
	case "remote":
		return wordAfter(rest, "removes a remote", "remove", "rm", "prune")
	case "submodule":
		return wordAfter(rest, "removes a submodule", "deinit")
	case "reflog":
		return wordAfter(rest, "throws history away", "expire", "delete")
	case "update-ref":
		return option(c, "deletes a reference", "-d", "--delete")
	case "filter-branch", "filter-repo":
		return Caution, "rewrites history"
	case "gc", "prune":
		if args[0].Text == "prune" || slices.ContainsFunc(c.Texts(), func(t string) bool { return strings.HasPrefix(t, "--prune") }) {
			return Caution, "throws history away"
		}
	}
	return Fine, ""
}

func gitPush(c *policy.Command, rest []string) (Class, string) {
	if c.Has("-n", "--dry-run") {
		return Fine, ""
	}
	for _, t := range c.Texts() {
		if strings.HasPrefix(t, "--force") || strings.HasPrefix(t, "--mirror") || strings.HasPrefix(t, "--prune") {
			return Caution, "overwrites what others have"
		}
	}
	if c.Has("-f", "-d", "--delete") {
		return Caution, "overwrites what others have"
	}
	for _, t := range rest {
		if strings.HasPrefix(t, "+") || strings.HasPrefix(t, ":") {
			return Caution, "overwrites what others have"
		}
	}
	return Fine, ""
}

// gitAliases looks into aliases that are given on the line and run a shell.
func (j *judge) gitAliases(c *policy.Command) {
	for _, t := range c.Texts() {
		if name, value, ok := strings.Cut(t, "=!"); ok && strings.HasPrefix(name, "alias.") {
			j.line(value, maxScripts)
		}
	}
	if args := texts(operands(c)); len(args) > 2 && args[0] == "config" && strings.HasPrefix(args[len(args)-1], "!") {
		j.line(strings.TrimPrefix(args[len(args)-1], "!"), maxScripts)
	}
}

func option(c *policy.Command, reason string, options ...string) (Class, string) {
	if c.Has(options...) {
		return Caution, reason
	}
	return Fine, ""
}

func wordAfter(rest []string, reason string, want ...string) (Class, string) {
	if len(rest) > 0 && slices.Contains(want, rest[0]) {
		return Caution, reason
	}
	return Fine, ""
}

// containers judges docker and its like, and what they run inside.
func containers(j *judge, c *policy.Command) (Class, string) {
	valued := []string{"-H", "--host", "--context", "-l", "--log-level", "-f", "--file", "-p", "--project-name", "--profile", "--env-file",
		"-e", "--env", "-v", "--volume", "-w", "--workdir", "-u", "--user", "--name", "--mount", "--network", "--entrypoint"}
	args := operands(c, valued...)
	have := texts(args)
	switch {
	case begins(have, "rm|rmi|kill|prune"), begins(have, "compose", "rm|kill"):
		return Caution, "removes containers or images"
	case begins(have, "container|image|volume|network|builder|buildx|system|secret|config|service|stack|node|context|plugin|pod|machine", "rm|rmi|remove|prune|kill|destroy|reset"):
		return Caution, "removes what containers need"
	case begins(have, "swarm", "leave"):
		return Caution, "leaves the swarm"
	case begins(have, "compose", "down") || strings.HasSuffix(c.Program(), "-compose") && begins(have, "down"):
		return option(c, "removes volumes or images", "-v", "--volumes", "--rmi")
	case begins(have, "exec") && len(args) > 2, begins(have, "run") && len(args) > 2:
		inner := policy.Command{Words: args[2:]}
		j.command(&inner, maxScripts)
		return mountsRoot(c)
	}
	return Fine, ""
}

// mountsRoot finds a container that can do anything on this machine.
func mountsRoot(c *policy.Command) (Class, string) {
	for _, t := range c.Texts() {
		t = strings.TrimPrefix(strings.TrimPrefix(t, "--volume="), "-v")
		if t == "--privileged" || strings.HasPrefix(t, "/:") || strings.HasPrefix(t, "/var/run/docker.sock:") || strings.Contains(t, "source=/,") {
			return Caution, "starts a container with power over this machine"
		}
	}
	return Fine, ""
}

func hub(_ *judge, c *policy.Command) (Class, string) {
	have := texts(operands(c, "-R", "--repo", "-X", "--method", "-f", "-F", "--title", "--body", "-t", "-b"))
	switch {
	case len(have) > 1 && slices.Contains([]string{"delete", "archive", "rename", "transfer", "remove", "cancel", "disable"}, have[1]):
		return Caution, "removes things on the forge"
	case begins(have, "api") && slices.ContainsFunc(c.Texts(), func(t string) bool { return strings.EqualFold(strings.TrimPrefix(t, "-X"), "DELETE") }):
		return Caution, "removes things on the forge"
	}
	return Fine, ""
}

// statements finds SQL that deletes.
var statements = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(drop\s+(table|database|schema|view|index|user|role|column)|truncate\s|delete\s+from|alter\s+table\b.*\bdrop\b|update\s+\S+\s+set\b|flush\s)`)
})

func queries(_ *judge, c *policy.Command) (Class, string) {
	all := c.Texts()
	if c.Input != nil {
		all = append(all, c.Input.Text)
	}
	if slices.ContainsFunc(all, statements().MatchString) {
		return Caution, "deletes data"
	}
	return Fine, ""
}

func requests(j *judge, c *policy.Command) (Class, string) {
	all := c.Texts()
	for i, t := range all {
		if (t == "-X" || t == "--request") && i+1 < len(all) {
			t = "-X" + all[i+1]
		}
		if t = strings.TrimPrefix(t, "--request="); strings.EqualFold(t, "-XDELETE") || strings.EqualFold(t, "DELETE") {
			return Caution, "deletes something on a server"
		}
		if (t == "-o" || t == "--output") && i+1 < len(all) {
			if p := j.place(policy.Word{Text: all[i+1]}); !p.harmlessDevice() && (p.system() || p.shellSettings()) {
				return Blocked, "destructive write to " + all[i+1]
			}
		}
	}
	return Fine, ""
}
