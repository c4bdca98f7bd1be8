package policy_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// hidden are lines that run something which no word of the line shows as a command.
var hidden = []string{
	// A text becomes a command when an expansion evaluates it.
	`echo "${x:=\$(touch p)}" "${x@P}"`,
	`echo ${x:=a[\$(touch p)]} $((x))`,
	`echo ${x:=a[\$(touch p)]} ${y[x]}`,
	`ls "${x:=a[\$(touch p)]}" "${!x}"`,
	`echo "${x='$(touch p)'}${x@P}"`,
	`echo "${PS4@P}"`, `echo ${x@Q}`, `echo ${x@A}`, `echo ${!x*}`, `echo ${!x}`,
	`echo ${x=1}`, `echo ${x:=1}`,
	`echo $((x))`, `echo $((x+1))`, `echo $[1+1]`, `echo $((a[0]))`, `echo $((1 ? 2 : 3))`, `((1))`, `((x=1))`,
	`let x=1`,
	`for ((i=0;i<3;i++)); do echo; done`,
	`echo ${x[i]}`, `echo ${x[$i]}`, `echo "${x[1+i]}"`, `x=([y]=1)`, `x=(1); local x="$1"`,
	`mapfile x < f; typeset x="$1"`, `echo ${x:y}`, `echo ${x:0:y}`, `x[0]=1`, `echo ${x[$(touch p)]}`,
	`[[ $x -eq 1 ]]`, `[[ -v x ]]`, `[[ -R x ]]`, `[[ -o errexit ]]`,
	`echo "${x:-'$(touch p)'}"`, "cat <<E\n${x:-'$(touch p)'}\nE",
	// Variables that the shell runs or reads.
	`PS4='$(touch p)'`, `PS4='$(touch p)' bash -x script`, `env PS4='$(touch p)' bash -x script`, `export BASH_ENV=p`,
	`read PS4 < p`,
	`for PS4 in '$(touch p)'; do set -x; done`, `RANDOM='a[$(touch p)]'`, `readonly OPTIND=x`, `printf -v PS4 x`,
	`env 'BASH_FUNC_ls%%=() { touch p; }' bash -c ls`,
	// Names that are evaluated.
	`test -v 'a[$(touch p)]'`, `[ -v x ]`, `[ $x ]`, `[ -R x ]`, `x='-v a[$(touch${IFS}p)]'; [ $x ]`, `[ "$x" "$y" ]`,
	`read 'a[$(touch p)]' < f`, `read -r "$x"`, `unset 'a[0]'`, `printf -v 'a[$(touch p)]' x`, `printf -va x`,
	`printf "$x"`, `printf $x`,
	`mapfile -C 'touch p' -c 1 x < f`, `readarray 'a[0]'`, `getopts a 'a[$(touch p)]' -a`, `wait -n -p 'a[$(touch p)]'`,
	`wait $x`,
	`declare -n x='a[$(touch p)]'`, `declare -i x='a[$(touch p)]'`, `local -A x`, `export $x`, `"declare" -n x=y`,
	`command declare -n x=y`,
	`builtin export 'a[$(touch p)]=1'`, `exec {x}>f`, `nameref x=y`,
	// Commands that run or redefine others.
	`enable -f ./p.so p`, `bind -x '"a": touch p'`, `complete -C 'touch p' x`, `compgen -C 'touch p'`,
	`compgen -W '$(touch p)'`, `fc -s`,
	`hash -p ./p ls`, `history -p '$(touch p)'`, `jobs -x touch p`, `shopt -s expand_aliases`, `shopt -s extglob`,
	`set -k`, `set -o posix`, `set $x`,
	`alias if='touch p #'`, "alias a='touch '\na p", `coproc touch p`, `select x in a; do touch p; done`,
	`echo touch p | xargs -I{} sh -c '{}'`, `xargs -i sh -c 'ls; {}' < f`, `xargs -0IX sh -c 'X p' < f`,
	`xargs -I X X p < f`, `xargs --replace=Y sh -c Y`,
	`xargs -I "$x" sh -c '{}'`, `xargs -I '' sh -c x`,
	`. /dev/stdin < f`, `echo touch p | source /dev/stdin`, `. /proc/self/fd/0`, `. "$x" <<< 'touch p'`,
	`nice --new-option touch p`, `env -Z touch p`, `timeout --odd 5 touch p`, `xargs --frobnicate touch p < f`,
	`sudo -Y touch p`, `stdbuf -q0 touch p`,
	// Git settings that run their value, or a file's content.
	`git -c core.hooksPath=x commit`, `git -c include.path=x st`, `git -c 'filter.x.clean=touch p' add a`,
	`git -c "$x" status`, `git --config-env=alias.x=X x`,
	`git --exec-path=. x`, `git -c alias.x="!$x" x`, `git -c credential.helper='!touch p' fetch`,
	`git -c diff.x.textconv=p diff`, `git $x status`,
	// What shells read differently.
	`cat <(ls)`, `ls > >(cat)`, `echo !(a)`, `echo $"a"`, "echo `echo \\`touch p\\``", "echo a\rb", "echo \x01",
	"echo \xff", `zsh -c ls`, `fish -c ls`,
	"echo # \\\ntouch p", `echo $'\'' p`, `echo a &> f b`, `echo a 02> f`, `echo >&$x`, `echo >&'$(touch p)'`,
	"echo $(cat <<E\nx\nE\ntouch p; ls)",
	`function f() { ls; }; coproc f`, `echo ${ touch p; }`, `echo ${| touch p; }`,
}

// An unreadable line is treated as the worst: no rule allows it, and every rule
// that denies or asks applies.
func TestUnreadableLines(t *testing.T) {
	deny, err := policy.New(commandRules(policy.Deny, "curl"))
	require.NoError(t, err)
	ask, err := policy.New(commandRules(policy.Ask, "curl"))
	require.NoError(t, err)
	var all []string
	for _, line := range hidden {
		for _, c := range policy.Read(line).Commands {
			if name := c.Program(); strings.Trim(name, "abcdefghijklmnopqrstuvwxyz.") == "" {
				all = append(all, name+" *")
			}
		}
	}
	allow, err := policy.New(commandRules(policy.Allow, append(all, "echo *", "ls *")...))
	require.NoError(t, err)
	for _, line := range hidden {
		for _, written := range []string{line, "ls; " + line, "sh -c " + quoted(line),
			"if true; then\n" + line + "\nfi", "$(" + line + "\n)"} {
			assert.NotEmpty(t, policy.Read(written).Unreadable, written)
			request := policy.Request{Tool: "bash", Shell: written}
			assert.Equal(t, policy.Deny, deny.Decide(request).Action, written)
			assert.Equal(t, policy.Ask, ask.Decide(request).Action, written)
			assert.NotEqual(t, policy.Allow, allow.Decide(request).Action, written)
		}
	}
}

// Brackets are read to a depth; a quoted one counts like any other.
func TestNestedLines(t *testing.T) {
	for _, c := range []struct {
		line     string
		readable bool
	}{
		{strings.Repeat("{ ", 500) + "ls" + strings.Repeat("; }", 500), true},
		{strings.Repeat("{ ", 501) + "ls" + strings.Repeat("; }", 501), false},
		{strings.Repeat("echo $(ls); ", 501), true},
		{"echo ')))' '" + strings.Repeat("[", 500) + "'", true},
		{"echo ')))' '" + strings.Repeat("[{", 251) + "'", false},
	} {
		assert.Equal(t, c.readable, policy.Read(c.line).Unreadable == "", "%.20s…", c.line)
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// If rules are about commands, an unreadable line asks, even if everything else is allowed.
func TestUnreadableLinesAsk(t *testing.T) {
	rules := commandRules(policy.Allow, "ls *")
	rules.Default = policy.Allow
	p, err := policy.New(rules)
	require.NoError(t, err)
	assert.Equal(t, policy.Allow, p.Decide(policy.Request{Shell: "pwd"}).Action)
	for _, line := range hidden {
		assert.Equal(t, policy.Ask, p.Decide(policy.Request{Shell: line}).Action, line)
	}
}

// Agents' everyday lines are readable.
func TestReadableLines(t *testing.T) {
	for _, line := range []string{
		`echo "$HOME" ${x} ${x:-a} ${x:+"$y"} ${x%.go} "${x##*/}" ${x/a/b} ${x^^} ${#x} ${x:0:3} "$@" $?`,
		`x=(a "$b" c); for i in "${x[@]}" ${x[2]} ${x[-1]} ${#x[@]}; do :; done`, `echo $((1 + 2)) $(( (3 - 1) * 4 ))`,
		"echo `date` $(date)", `x=1 y="$z" make`, `export PATH="$PATH:/opt/bin" A`, `local -r x=1`,
		`for f in *.go; do gofmt -l "$f"; done`, `while read -r line; do echo "$line"; done < list`,
		`while IFS= read -r a; do :; done`, `until false; do break; done`,
		`if [ -f a ] && [ "$x" = b ]; then ls; elif [[ -d c ]]; then ls; else ls; fi`, `[ $# -gt 0 ]`, `[ "$?" -ne 0 ]`,
		`[[ $? -eq 0 ]]`, `[ -n "$x" ]`,
		`case $x in a|b) ls;; *) pwd;& c) date;; esac`, `f() { ls; }; f`, `(cd x && ls) | sort -u > out 2>&1`, `ls &`,
		`cmd & wait $!`, `! ls`, `time ls`,
		"cat <<'E' > f\n$(touch p) ${x@P}\nE", "cat <<E\n$x $(date)\nE", `cat <<< "$x"`, `ls &> /dev/null`, `ls |& cat`,
		`set -euo pipefail`, `set -x`, `shopt -s nullglob`,
		`printf '%s\n' "$x"`, `printf "a $x"`, `unset x y`, `trap 'rm -f x' EXIT`, `exec 3>file`, `test -e a`,
		`alias ll='ls -l'`, `. ./env.sh`, `source venv/bin/activate && pip list`, `. "$NVM_DIR/nvm.sh"`,
		`git -c user.name=a -c user.email=b@c commit -m x`, `git -C x --no-pager log -1`, `git -c core.pager=cat diff`,
		`git -c color.ui=never status`,
		`ls | xargs -I{} cp {} x`, `xargs -n 1 echo < f`,
		`git commit -m "$(cat msg)"`, "git commit -m \"$(cat <<'E'\nFix it\nE\n)\" && git push", `rg "a b" -g '*.go'`,
		`echo {a,b} ~/x`, `echo $'a\nb'`,
	} {
		assert.Empty(t, policy.Read(line).Unreadable, line)
	}
}

// Every variable that bash knows is either one that a line may set or one that
// makes it unreadable: the reader's list is compared with bash.
func TestVariablesOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testneed.Missing(t, "bash is not installed")
	}
	cmd := exec.Command(bash, "--norc", "-c", "RANDOM=1; SECONDS=1; compgen -v")
	cmd.Env = []string{}
	out, err := cmd.Output()
	require.NoError(t, err)
	names := strings.Fields(string(out))
	require.Greater(t, len(names), 20)
	harmless := strings.Fields("_ COLUMNS LINES EUID UID PPID HOSTNAME HOSTTYPE MACHTYPE OSTYPE PATH PWD OLDPWD TERM SHLVL IFS")
	for _, name := range names {
		if policy.Read(name+"=x").Unreadable == "" {
			assert.Contains(t, harmless, name)
		}
	}
}

// The parser takes # for the start of a comment after a quote or an expansion
// in parentheses; for shells it is part of the word. This hides nothing after
// it.
func TestWhatIsNoComment(t *testing.T) {
	for _, word := range []string{`$x`, `${x}`, `"$x"`, `''`, `$'a'`, `'a'`, `$(ls)`, "`ls`", `$1`, `$$`, `$?`,
		`$((1))`, "$x\\\n", "a''\\\n", `a$x`, `$x\ `, `\ `, `$#`, `$##`} {
		for _, context := range []string{
			"(echo @; m2 a\n)", "(echo @ ; m2 a)", "echo $(echo @; m2 a\n)", "echo \"$(echo @; m2 a\n)\"",
			"if (echo @; m2 a\n); then ls; fi", "x=$(y=@; m2 a\n)",
			"case $(echo @; m2 a\n) in x) ls;; esac", "(case @ in x) ls;; *) m2 a\n;; esac)",
			"(for i in @ b; do m2 a; done\n)", "(ls > @; m2 a\n)", "(f() { echo @; m2 a\n}; f\n)",
			"([[ -n @ ]]; m2 a\n)", "(x=(a @); m2 a\n)", "(echo @ | m2 a\n)", "{ (echo @ && m2 a\n); }",
			"(while echo @; m2 a\ndo ls; done\n)", "echo $( (echo @; m2 a\n) )", "(echo <<E @; m2 a\nE\n)",
		} {
			line := strings.Replace(context, "@", word+"#b", 1)
			r := policy.Read(line)
			ran := slices.ContainsFunc(r.Commands, func(c policy.Command) bool { return c.Program() == "m2" })
			assert.True(t, ran || r.Unreadable != "", "%q: %+v", line, r)
		}
	}
	for _, line := range []string{"ls # a", "# a\nls", "ls; # a", "(ls # a\n)", "ls;# a", "echo a#b",
		"curl http://a/#b", "if true; then # a\nls # b\nfi", "x=$(ls # a\n)", `echo "#a" '#b' \#c`, "\t# a\nls"} {
		assert.Empty(t, policy.Read(line).Unreadable, line)
	}
}
