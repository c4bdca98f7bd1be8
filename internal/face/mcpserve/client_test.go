package mcpserve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// clients is a recorder that keeps clients.
type clients struct{ all []string }

func (c *clients) Step(context.Context, string) (int, error) { return 1, nil }

func (c *clients) ArtifactDir(string) string { return "" }

func (c *clients) Event(_ context.Context, _, event string, payload any) error {
	kept, ok := payload.(interface {
		Kept() (call string, event, more any, name string, content any)
	})
	if ok && event == "tool_call_started" {
		_, _, more, _, _ := kept.Kept()
		c.all = append(c.all, string(tool.MustMarshal(more)))
	}
	return nil
}

// The record has the client's name and version, bounded.
func TestTheClientIsRecorded(t *testing.T) {
	for _, c := range []struct{ name, version, want string }{
		{"claude-code", "2.1", `"client":"claude-code 2.1"`},
		{"x", "", `"client":"x"`},
		{strings.Repeat("n", 500), "1", `"client":"` + strings.Repeat("n", 100) + ` 1"`},
		{strings.Repeat("é", 60) + "x", "1", `"client":"` + strings.Repeat("é", 50) + ` 1"`},
		{strings.Repeat("x", 99) + "é", "1", `"client":"` + strings.Repeat("x", 99) + ` 1"`},
	} {
		recorded := new(clients)
		w := dial(t, newHost(t, host.Options{Recorder: recorded}, echoTool()))
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
			`"clientInfo":{"name":%q,"version":%q}}}`, c.name, c.version))
		w.receive()
		w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`)
		w.receive()
		if assert.Len(t, recorded.all, 1) {
			assert.Contains(t, recorded.all[0], c.want)
		}
	}
}
