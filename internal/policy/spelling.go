package policy

import (
	"slices"
	"strings"
)

// spellings are program options that can be written in several ways: a rule with one of them denies or asks for
// all. Words of one meaning are grouped; a semicolon ends a group.
var spellings = map[string]string{
	"rm":    "-r -R --recursive; -f --force; -d --dir; -i --interactive; -v --verbose; --no-preserve-root; --one-file-system",
	"cp":    "-r -R --recursive -a --archive; -f --force; -l --link; -s --symbolic-link; -T --no-target-directory; -t --target-directory",
	"mv":    "-f --force; -n --no-clobber; -T --no-target-directory; -t --target-directory",
	"ln":    "-f --force; -s --symbolic",
	"chmod": "-R --recursive; -f --silent --quiet", "chown": "-R --recursive; -h --no-dereference",
	"chgrp": "-R --recursive",
	"mkdir": "-p --parents", "rmdir": "-p --parents",
	"sed": "-i --in-place; -E -r --regexp-extended; -n --quiet --silent; -e --expression; -f --file",
	"tar": "-x --extract --get; -c --create; -P --absolute-names; -C --directory; -f --file; -I --use-compress-program; -O --to-stdout",
	"curl": "-o --output; -O --remote-name; -X --request; -k --insecure; -T --upload-file; -d --data; -F --form; " +
		"-L --location; -H --header; -u --user; -x --proxy",
	"wget": "-O --output-document; -i --input-file; -r --recursive; -P --directory-prefix",
	"kill": "-9 -KILL -SIGKILL", "pkill": "-9 -KILL -SIGKILL; -f --full", "killall": "-9 -KILL -SIGKILL",
	"make": "-C --directory; -f --file --makefile; -B --always-make",
	"npm":  "-g --global; -f --force; -D --save-dev", "pip": "-U --upgrade; -e --editable; -r --requirement",
	"docker run": "-v --volume; -p --publish; -e --env; -u --user; -d --detach",
	"docker rm":  "-f --force; -v --volumes", "docker rmi": "-f --force", "docker system prune": "-f --force; -a --all",
	"kubectl": "-f --filename; -n --namespace; -l --selector; -A --all-namespaces",

	"git push": "-f --force; -d --delete; -n --dry-run; -u --set-upstream; --force-with-lease; " +
		"--force-if-includes; --no-verify; --mirror; --prune; --tags; --all",
	"git commit":   "-n --no-verify; -a --all; -m --message; --amend; -s --signoff; -S --gpg-sign",
	"git merge":    "--no-verify; -m --message; --abort; --no-ff",
	"git clean":    "-f --force; -n --dry-run; -i --interactive; -d; -x; -X",
	"git checkout": "-f --force; -b; -B; -m --merge",
	"git switch":   "-f --force --discard-changes; -c --create; -C --force-create",
	"git restore":  "-S --staged; -W --worktree; -s --source",
	"git rm":       "-f --force; -n --dry-run; -r; --cached", "git mv": "-f --force; -n --dry-run",
	"git add":      "-f --force; -A --all --no-ignore-removal; -n --dry-run; -u --update; -p --patch",
	"git branch":   "-d --delete; -f --force; -m --move; -c --copy; -a --all; -r --remotes",
	"git tag":      "-d --delete; -f --force; -s --sign; -a --annotate",
	"git fetch":    "-f --force; -p --prune; -a --append; -t --tags",
	"git worktree": "-f --force", "git rebase": "-i --interactive; -x --exec; --onto; --no-verify",
	"git reset":  "--hard; --soft; --mixed; --keep; --merge; -q --quiet; -p --patch",
	"git stash":  "-u --include-untracked; -a --all; -k --keep-index",
	"git config": "--global; --system; --local; --unset; --add; -e --edit; -f --file",
}

// combined are options that include several others.
var combined = map[string]map[string][]string{
	"git branch": {"-D": {"--delete", "--force"}, "-M": {"--move", "--force"}, "-C": {"--copy", "--force"}},
}

// spelling is how the options of one program can be written.
type spelling struct {
	program string
	groups  [][]string
}

// spellingOf returns the option spellings of a pattern's program, or of a command of that program.
func spellingOf(words []string) spelling {
	s := spelling{program: strings.ToLower(words[0])}
	name := s.program
	known := spellings[name]
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") {
			break
		}
		name += " " + w
		if list, ok := spellings[name]; ok {
			known, s.program = list, name
		}
	}
	for group := range strings.SplitSeq(known, ";") {
		if names := strings.Fields(group); len(names) > 0 {
			s.groups = append(s.groups, names)
		}
	}
	return s
}

func (s spelling) of(option string) []string {
	for _, group := range s.groups {
		for _, name := range group {
			if name == option {
				return group
			}
		}
	}
	return []string{option}
}

// abbreviates reports whether an argument abbreviates a long option, which GNU programs and git accept if
// unambiguous.
func (s spelling) abbreviates(arg, option string) bool {
	if len(arg) < 4 || !strings.HasPrefix(arg, "--") || !strings.HasPrefix(option, arg) {
		return false
	}
	for _, group := range s.groups {
		for _, name := range group {
			if name == arg {
				return false // a different option
			}
		}
	}
	return len(s.groups) > 0
}

// has finds an option among args in any spelling: "-rf" as any single-letter options that include both letters, or
// as long ones.
func (s spelling) has(args []word, want string) bool {
	if s.hasOne(args, want) || s.means(args, want) {
		return true
	}
	parts := combined[s.program][want]
	if parts == nil && isCluster(want) {
		for _, letter := range want[1:] {
			parts = append(parts, "-"+string(letter))
		}
	}
	lacks := func(option string) bool { return !s.hasOne(args, option) && !s.means(args, option) }
	return len(parts) > 0 && !slices.ContainsFunc(parts, lacks)
}

func (s spelling) hasOne(args []word, want string) bool {
	for _, name := range s.of(want) {
		if hasOption(args, name) {
			return true
		}
		for _, arg := range args {
			if given, _, _ := strings.Cut(arg.text, "="); strings.HasPrefix(name, "--") && s.abbreviates(given, name) {
				return true
			}
		}
	}
	return false
}

// means finds what has an option's effect without being one: a refspec with a plus or without a source, or a
// combined option.
func (s spelling) means(args []word, want string) bool {
	for _, arg := range args {
		refspec := s.program == "git push" && !arg.dynamic
		switch all := s.of(want); {
		case refspec && all[0] == "-f" && strings.HasPrefix(arg.text, "+"),
			refspec && all[0] == "-d" && strings.HasPrefix(arg.text, ":") && len(arg.text) > 1:
			return true
		}
		for _, option := range combined[s.program][arg.text] {
			if s.of(option)[0] == s.of(want)[0] {
				return true
			}
		}
	}
	return false
}
