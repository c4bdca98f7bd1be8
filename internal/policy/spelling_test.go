package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/policy"
)

// A rule that denies matches what a command does, however it is written.
func TestOtherSpellings(t *testing.T) {
	for rule, lines := range map[string]map[policy.Action][]string{
		"git push --force": {
			policy.Deny: {
				"git push -f", "git push -uf origin x", "git push origin +main", "git push --forc", "git -C d push -f",
				"git -c user.name=a push -f",
				"git -c alias.p='push -f' p", "git -c 'alias.p=push --force' p origin",
				"git -c alias.x='!git push -f' x", "git -calias.p='push -f' p",
				"git config alias.p '!git push -f'", "git bisect run git push -f",
				"git submodule foreach --recursive 'git push -f'", "git rebase -x 'git push -f' main",
				"git rebase --exec='git push -f'", "GIT PUSH -f; git push -f",
			},
			policy.Allow: {"git push", "git push -u origin main", "git push --force-with-lease",
				"git push --follow-tags", "git push origin a:b", "git commit -m +x"},
		},
		"git push -f": {policy.Deny: {"git push --force", "git push -fu"}, policy.Allow: {"git push --tags"}},
		"git push --delete": {policy.Deny: {"git push -d origin x", "git push origin :x"},
			policy.Allow: {"git push origin x:y", "git push origin :"}},
		"git branch -D": {policy.Deny: {"git branch -D x", "git branch -d -f x",
			"git branch --delete --force x"}},
		"git branch --delete": {policy.Deny: {"git branch -d x", "git branch -D x"},
			policy.Allow: {"git branch -M x", "git branch"}},
		"git commit -n": {policy.Deny: {"git commit --no-verify", "git commit --no-v -m x", "git commit -anm x"},
			policy.Allow: {"git commit -am x"}},
		"git clean -fdx": {policy.Deny: {"git clean -d -x --force", "git clean -xdf"},
			policy.Allow: {"git clean -n", "git clean -f"}},
		"git checkout --force": {policy.Deny: {"git checkout -f"}, policy.Allow: {"git checkout -b x"}},
		"rm -rf": {
			policy.Deny: {
				"rm --recursive --force x", "rm -r -f x", "rm -fR x", "rm --rec -f x", "rm -r --for x",
				"rm --force x -r", "xargs rm --recursive -f < l",
				`python3 -c 'import os; os.system("rm -rf x")'`,
				`python -Ic "import subprocess as s; s.run(['rm', '-r', '--force', 'x'])"`,
				"perl -e 'system qw(rm -rf x)'", "perl -we'`rm -fr x`'",
				"perl -E 'system(\"/bin/rm\", \"-rf\", \"x\")'",
				`node --eval 'require("child_process").execSync("rm -rf x")'`,
				`node -pe 'child_process.execFileSync("rm", ["-rf", "x"])'`, `ruby -e 'system("rm", "-rf", "x")'`,
				`php -r 'exec("rm -rf x");'`, `awk 'BEGIN { system("rm -rf x") }'`,
				"python3 <<'E'\nimport os\nos.system('rm -rf x')\nE",
				"python3 - <<< 'import os; os.system(\"rm -rf x\")'", `env python3 -c 'os.system("rm -rf x")'`,
			},
			policy.Ask: {`python3 -c "$x"`, "cat x | python3", "cat x | perl -w", `node -e "$(cat f)"`},
			policy.Allow: {"rm -r x", "rm --force x", "rm --verbose x", `python3 -c 'print(1)'`,
				`python3 -c 'import os; os.remove("x")'`, "python3 rm.py -rf", "cat x | python3 -m json.tool",
				"ls --recursive --force"},
		},
		"rm --recursive": {policy.Deny: {"rm -r x", "rm -Rf x", "rm -rf x"}, policy.Allow: {"rm -f x"}},
		"chmod -R":       {policy.Deny: {"chmod --recursive 7 x", "chmod --recurs 7 x"}, policy.Allow: {"chmod 7 x"}},
		"curl -o":        {policy.Deny: {"curl --output x y", "curl -sLo x y"}, policy.Allow: {"curl -O y", "curl y"}},
		"kill -9":        {policy.Deny: {"kill -KILL 1", "kill -SIGKILL 1"}, policy.Allow: {"kill 1"}},
		"curl": {
			policy.Deny: {". /dev/stdin <<< 'curl x'", "source /dev/fd/0 <<E\ncurl x\nE",
				"git -c core.pager='curl x' log", "git -c core.sshCommand='curl x' fetch", `perl -e 'exec "curl x"'`},
			policy.Allow: {"source curl.sh", "git -c core.pager=cat log", "git grep curl"},
		},
	} {
		p, err := policy.New(commandRules(policy.Deny, rule))
		require.NoError(t, err)
		for want, all := range lines {
			for _, line := range all {
				d := p.Decide(policy.Request{Tool: "bash", Shell: line})
				assert.Equal(t, want, d.Action, "%s: %s\n%s", rule, line, d.Explain())
			}
		}
	}
}

// Another spelling of an allowed command is not allowed, and after a sourced
// file commands do more than their words say.
func TestOtherSpellingsAreNotAllowed(t *testing.T) {
	p, err := policy.New(commandRules(policy.Allow, "git push --force", "git x", "rm -r", "source *", ". *", "ls *",
		"xargs *", "cp *", "python3 *"))
	require.NoError(t, err)
	for line, want := range map[string]policy.Action{
		"git push --force": policy.Allow, "git push -f": policy.Ask, "rm --recursive": policy.Ask,
		"git -c alias.x='!ls' x": policy.Ask,
		"source a":               policy.Ask, "source a && ls": policy.Ask, ". ./a; ls": policy.Ask,
		"python3 -c 'print(1)'": policy.Allow,
	} {
		assert.Equal(t, want, p.Decide(policy.Request{Tool: "bash", Shell: line}).Action, line)
	}
}

// No rule allows what the reader does not understand: an allowed line has only
// commands, each of words that the line shows.
func FuzzUnderstood(f *testing.F) {
	for _, line := range hidden {
		f.Add(line)
	}
	p, err := policy.New(commandRules(policy.Allow, "* *"))
	require.NoError(f, err)
	deny, err := policy.New(commandRules(policy.Deny, "program-that-no-line-names"))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, line string) {
		r := policy.Read(line)
		request := policy.Request{Tool: "bash", Shell: line}
		allowed, denied := p.Decide(request).Action == policy.Allow, deny.Decide(request).Action == policy.Deny
		if r.Unreadable != "" {
			assert.False(t, allowed, line)
			assert.True(t, denied || line == "", line)
			return
		}
		for _, c := range r.Commands {
			require.NotEmpty(t, c.Words, line)
			assert.False(t, c.Words[0].Dynamic && c.Words[0].Text != "[", "%q runs what the shell puts in", line)
		}
		assert.False(t, allowed && len(r.Writes) > 0, line)
		quotedAgain := policy.Read("sh -c " + quoted(line))
		if quotedAgain.Unreadable == "" {
			for _, c := range r.Commands {
				assert.Contains(t, namesOf(quotedAgain), c.Words[0].Text, "%q hides it in a shell of its own", line)
			}
		}
	})
}

func namesOf(r policy.Reading) (names []string) {
	for _, c := range r.Commands {
		names = append(names, c.Words[0].Text)
	}
	return names
}
