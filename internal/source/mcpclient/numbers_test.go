package mcpclient_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/mcpclient"
)

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// A server's numbers come back to it, and reach others, unchanged.
func TestNumbersOfAServer(t *testing.T) {
	log := new(lockedBuffer)
	client := open(t, mcpclient.Options{Logger: slog.New(slog.NewTextHandler(log, nil))}, upstream("numbers"))
	result, err := client.Call(t.Context(), "up", "numbers", nil, newCall("{}"))
	require.NoError(t, err)
	assert.Equal(t, "1.50 4 9007199254740993", result.Text(), "the ids of the server's own requests")
	assert.JSONEq(t, `{"_meta":{"n":1764279999123456789}}`, string(result.Contents[0].MCP))
	assert.Contains(t, string(result.Contents[0].MCP), "1764279999123456789")
	assert.Contains(t, log.text(), "1764279999123456789")
}
