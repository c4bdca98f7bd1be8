package clientconfig_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/face/clientconfig"
)

// Entries finds what install writes, for every client, under any name, and nothing else.
func TestEntriesOfEveryClient(t *testing.T) {
	for _, client := range clientconfig.Clients() {
		t.Run(client.ID, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "settings")
			var text []byte
			servers := map[string]string{"tools": "/opt/bin/toolhost", "other": "/opt/bin/hosttool",
				"toolhost": "/usr/bin/not-it"}
			if client.Printed() {
				servers = map[string]string{"tools": "/opt/bin/toolhost"}
			}
			for name, command := range servers {
				change, err := client.Install(file, text, clientconfig.Server{Name: name, Command: command,
					Args: []string{"serve"}, Env: []string{"A_TOKEN", "XDG_STATE_HOME"}})
				require.NoError(t, err)
				text = change.After
			}
			found, err := client.Entries(file, text)
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, "tools", found[0].Name)
			assert.Equal(t, "/opt/bin/toolhost", found[0].Command)
			if client.FiltersEnv() {
				assert.Equal(t, []string{"A_TOKEN", "XDG_STATE_HOME"}, found[0].Env)
			}
			none, err := client.Entries(file, nil)
			assert.NoError(t, err)
			assert.Empty(t, none)
		})
	}
}

func TestEntriesOfOddFiles(t *testing.T) {
	cursor, err := clientconfig.Find("cursor")
	require.NoError(t, err)
	for text, want := range map[string]int{
		`{}`: 0, `{"mcpServers": null}`: 0, `{"mcpServers": []}`: 0, `{"mcpServers": {"a": 1, "b": null}}`: 0,
		`{"mcpServers": {"a": {"command": ["toolhost"]}, "b": {"command": "/x/toolhost"}}}`:                   2,
		`{"mcpServers": {"a": {"command": ""}, "b": {"command": "toolhost-task"}, "c": {"url": "toolhost"}}}`: 0,
	} {
		found, err := cursor.Entries("f", []byte(text))
		assert.NoError(t, err, text)
		assert.Len(t, found, want, text)
	}
	_, err = cursor.Entries("f", []byte(`{"mcpServers": `))
	assert.ErrorContains(t, err, "f cannot be read")
}
