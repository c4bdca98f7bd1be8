package clientconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/clientconfig"
	"github.com/toolhost/toolhost/internal/test/testfile"
)

func TestOwnTools(t *testing.T) {
	home := t.TempDir()
	machine := clientconfig.Machine{OS: "linux", Home: home, Env: func(string) string { return "" }}
	for _, id := range []string{"claude-code", "gemini-cli", "qwen-code", "crush", "opencode"} {
		for name, text := range map[string]string{
			"none":     "",
			"empty":    "{}\n",
			"comments": "{\n  // mine\n  \"a\": 1,\n}\n",
			"lists": "{\n\t\"permissions\": {\"allow\": [\"x\"], \"deny\": [\n\t\t\"Bash(rm:*)\",\n\t\t\"Read\"\n\t]},\n" +
				"\t\"tools\": {\"other\": true}, \"options\": {\"disabled_tools\": [ \"bash\" ]}\n}\n",
		} {
			t.Run(id+" "+name, func(t *testing.T) {
				client, err := clientconfig.Find(id)
				require.NoError(t, err)
				own, err := client.OwnTools(machine, "", filepath.Join(t.TempDir(), "settings.json"))
				require.NoError(t, err)
				own.File = filepath.Join(t.TempDir(), "settings.json")
				if text != "" {
					testfile.Write(t, own.File, text)
				}
				assert.False(t, own.Off())
				require.NoError(t, own.SwitchOff())
				assert.True(t, own.Off())
				off := testfile.Read(t, own.File)
				for _, tl := range own.Names {
					assert.Contains(t, off, `"`+tl+`"`)
				}
				require.NoError(t, own.SwitchOff(), "again")
				assert.Equal(t, off, testfile.Read(t, own.File))
				done, err := own.SwitchOn()
				require.NoError(t, err)
				assert.True(t, done)
				back, err := os.ReadFile(own.File)
				if text == "" {
					assert.ErrorIs(t, err, os.ErrNotExist)
				} else {
					assert.Equal(t, text, string(back))
				}
				done, err = own.SwitchOn()
				require.NoError(t, err)
				assert.False(t, done, "there is nothing to switch on")
			})
		}
	}
	client, err := clientconfig.Find("codex")
	require.NoError(t, err)
	_, err = client.OwnTools(machine, "", "x")
	assert.Equal(t, tool.Unsupported, tool.CodeOf(err))
	client, err = clientconfig.Find("claude-code")
	require.NoError(t, err)
	own, err := client.OwnTools(machine, "/p", "x")
	require.NoError(t, err)
	assert.Equal(t, "/p/.claude/settings.json", own.File)
}

// Later changes stay, and the setting is as it was.
func TestOwnToolsOfAFileThatHasChanged(t *testing.T) {
	client, err := clientconfig.Find("claude-code")
	require.NoError(t, err)
	for before, c := range map[string]struct{ change, want string }{
		"{\n  \"a\": 1\n}\n": {"\"a\": 2", "{\n  \"a\": 2\n}\n"},
		"{\n  \"a\": 1,\n  \"permissions\": {\"deny\": [\n    \"Read\"\n  ]}\n}\n": {"\"a\": 2",
			"{\n  \"a\": 2,\n  \"permissions\": {\"deny\": [\n    \"Read\"\n  ]}\n}\n"},
	} {
		own, err := client.OwnTools(clientconfig.Machine{}, "/", "")
		require.NoError(t, err)
		own.File = filepath.Join(t.TempDir(), "settings.json")
		testfile.Write(t, own.File, before)
		require.NoError(t, own.SwitchOff())
		testfile.Write(t, own.File, strings.Replace(testfile.Read(t, own.File), "\"a\": 1", c.change, 1))
		done, err := own.SwitchOn()
		require.NoError(t, err)
		assert.True(t, done)
		assert.Equal(t, c.want, testfile.Read(t, own.File))
	}
}
