package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// In every toolset the agent learns what its command changed and how to undo it, even if the command failed.
// cliagent has it in files_affected too.
func TestResultsSayWhatACommandChanged(t *testing.T) {
	needsFull(t)
	const config = "policy {\n  dangerous = \"allow\"\n}\n" +
		"tool \"sh\" {\n  command {\n    argv = [\"/bin/sh\", \"-c\", \"echo x > new; rm old; exit $(cat code)\"]\n  }\n}\n"
	for toolset, name := range map[string]string{"agent": "sh", "cliagent": "run_in_terminal", "clemini": "bash",
		"ocode": "bash", "agentbench": "run"} {
		for code := range 2 {
			t.Run(fmt.Sprintf("%s exits with %d", toolset, code), func(t *testing.T) {
				dir := testneed.VisibleDir(t)
				plant(t, dir, texts{"agent.hcl": config, "old": "1", "code": fmt.Sprint(code)})
				params := `{"command":"echo x > new; rm old; exit ` + fmt.Sprint(code) + `","confirmed":true}`
				switch toolset {
				case "agent":
					params = "{}"
				case "cliagent", "ocode", "agentbench":
					params = `{"command":"echo x > new; rm old; exit ` + fmt.Sprint(code) + `"}`
				}
				s := serve(t, dir, map[bool][]string{false: {"--toolset", toolset}}[toolset == "agent"]...)
				r := s.call(name, params)
				if toolset == "clemini" { // asks first
					r = s.call(name, params)
				}
				require.NotEmpty(t, r.Content)
				assert.Regexp(t, `^2 paths changed: new, old; undo: toolhost undo [a-z0-9]+$`,
					r.Content[len(r.Content)-1].Text)
				assert.Equal(t, code != 0 && toolset != "clemini", r.IsError, r.text())
				if toolset == "cliagent" {
					var envelope struct {
						Files []string `json:"files_affected"`
					}
					require.NoError(t, json.Unmarshal(r.Structured, &envelope))
					assert.Equal(t, []string{"new", "old"}, envelope.Files)
				}
				_, err := os.Stat(filepath.Join(dir, "old"))
				assert.ErrorIs(t, err, os.ErrNotExist)
			})
		}
	}
}
