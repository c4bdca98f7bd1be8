package danger

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/policy"
)

// runner is how a program that runs another one, but is no plain wrapper,
// takes that on its command line.
type runner struct {
	// verbs come before the command; none for programs that take it at once.
	verbs []string
	// valued are the options whose value is the next word.
	valued []string
}

func runnerOf(name string) (runner, bool) {
	switch name {
	case "npx", "bunx", "pipx", "uvx", "entr", "systemd-run", "xvfb-run", "firejail", "torsocks", "proxychains", "proxychains4", "unbuffer", "cpulimit",
		"caffeinate", "gtimeout", "gxargs", "genv", "setarch", "dbus-run-session", "screen":
		return runner{valued: []string{"-p", "--package", "-u", "-l", "-S", "-n"}}, true
	case "uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "doppler", "op", "mise", "devbox":
		return runner{verbs: []string{"run", "exec"}, valued: []string{"-n", "-p"}}, true
	case "bundle", "npm", "pnpm", "yarn", "direnv", "rbenv", "asdf":
		return runner{verbs: []string{"exec", "dlx"}, valued: []string{"-p", "--package"}}, true
	case "tmux":
		return runner{verbs: []string{"new", "new-session", "neww", "new-window", "split-window", "splitw", "run", "run-shell", "send-keys", "send", "respawn-pane"}, valued: []string{"-s", "-n", "-t", "-c"}}, true
	}
	return runner{}, false
}

// runs judges what a runner runs.
func (j *judge) runs(c *policy.Command, depth int) {
	r, ok := runnerOf(c.Program())
	if !ok {
		return
	}
	words := afterOptions(c.Words[1:], r.valued)
	if len(r.verbs) > 0 {
		if len(words) == 0 || !slices.Contains(r.verbs, words[0].Text) {
			return
		}
		words = afterOptions(words[1:], r.valued)
	}
	if len(words) == 0 {
		return
	}
	if len(words) == 1 || c.Program() == "tmux" {
		j.line(strings.Join(texts(words), " "), depth+1)
		return
	}
	inner := policy.Command{Words: words}
	j.command(&inner, depth+1)
}

// afterOptions gives the words behind the options.
func afterOptions(words []policy.Word, valued []string) []policy.Word {
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case text == "--":
			return words[1:]
		case !strings.HasPrefix(text, "-"):
			return words
		case slices.Contains(valued, text) && len(words) > 1:
			words = words[1:]
		}
		words = words[1:]
	}
	return words
}
