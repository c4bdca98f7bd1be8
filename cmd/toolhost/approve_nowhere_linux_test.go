package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// If a call cannot wait for toolhost approve, its error says why, and what to do.
func TestACallThatCannotWait(t *testing.T) {
	for name, x := range map[string]struct{ allow, state, config, because, todo string }{
		"home is allowed": {"..", "home/.local/state", "config", "the state of the workspace cannot be kept in",
			"XDG_STATE_HOME"},
		"home is the workspace": {"", "ws/.local/state", "config", "the state of the workspace cannot be kept in",
			"XDG_STATE_HOME"},
		"no state directory": {"", "", "config", "there is no place for the state of the workspace",
			"Set HOME (or XDG_STATE_HOME)"},
		"approvals in reach": {"../home", "state", "home/.config", "approvals cannot be kept in", "XDG_CONFIG_HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			block := ""
			if x.allow != "" {
				block = "workspace {\n  allow = [\"" + x.allow + "\"]\n}\n"
			}
			plant(t, base, texts{"ws/agent.hcl": askFirst + block, "ws/a.txt": "old", "home/x": "", "state/x": "",
				"config/x": ""})
			cmd := program(t, filepath.Join(base, "ws"), "serve")
			state := ""
			if x.state != "" {
				state = filepath.Join(base, x.state)
			} else {
				cmd.Env = append(cmd.Env, "HOME=")
			}
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+filepath.Join(base, x.config))
			s := serveCommand(t, cmd)
			s.hello()
			r := s.call("edit_file", `{"path":"a.txt","old_str":"old","new_str":"new"}`)
			assert.True(t, r.IsError)
			for _, part := range []string{"needs approval", "nor can it wait for toolhost approve: ", x.because,
				"So that calls can wait: ", x.todo, "policy rule in agent.hcl"} {
				assert.Contains(t, r.text(), part)
			}
			assert.Equal(t, "old", content(t, base, "ws", "a.txt"))
		})
	}
}
