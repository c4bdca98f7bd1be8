package clientconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/file/obeyed"
)

// No tool may write a project's files from which clients start servers.
func TestProjectFilesAreObeyed(t *testing.T) {
	for _, client := range Clients() {
		if client.project != "" {
			assert.True(t, obeyed.ByName(strings.Split(client.project, "/")), "%s: %s", client.ID, client.project)
		}
	}
}
