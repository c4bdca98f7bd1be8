package sdk_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// The SDK must have few dependencies: its users inherit them.
func TestSDKPullsInLittle(t *testing.T) {
	const module = "github.com/toolhost/toolhost/"
	heavy := []string{
		"github.com/hashicorp/hcl", "github.com/zclconf/go-cty", "github.com/go-task/", "modernc.org/",
		"github.com/spf13/",
		"github.com/modelcontextprotocol/", "mvdan.cc/sh", "github.com/stretchr/",
		module + "config", module + "taskfile", module + "internal/file/workspace", module + "internal/store/state",
		module + "internal/face/mcpserve", module + "internal/source/mcpclient",
	}
	for _, pkg := range []string{module + "plugins/sdk", module + "plugins/sdk/plugintest"} {
		for _, dep := range dependencies(t, pkg) {
			for _, prefix := range heavy {
				assert.False(t, strings.HasPrefix(dep, prefix), "%s pulls in %s", pkg, dep)
			}
			assert.NotEqual(t, module+"internal/source/plugins", dep, "%s pulls in the manager", pkg)
			assert.NotEqual(t, module+"host", dep, "%s pulls in the host", pkg)
		}
	}
	for _, dep := range dependencies(t, module+"plugins/sdk/typed") {
		assert.False(t, strings.HasPrefix(dep, "google.golang.org/"), "typed pulls in %s", dep)
	}
}
