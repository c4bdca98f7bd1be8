package main

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A worker takes no more sessions than its open files allow: further ones are
// refused, and the others go on.
func TestFilesOfAWorker(t *testing.T) {
	f := newFleet(t, 0)
	cmd := f.command("worker", "--hub", f.hubURL, "--key", f.key("worker"), "--dir", filepath.Join(f.home, "worker"))
	cmd.Args = append([]string{"sh", "-c", `ulimit -n 200 && exec "$0" "$@"`}, append([]string{cmd.Path},
		cmd.Args[1:]...)...)
	var err error
	cmd.Path, err = exec.LookPath("sh")
	require.NoError(t, err)
	w := f.run(cmd)
	w.find("takes sessions")
	f.knows(1)
	first := openSession(t, f.url)
	for range 200 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
				`"clientInfo":{"name":"test","version":"1"}}}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		data, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			continue
		}
		assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode, "%s", data)
		w.find("ulimit -n")
		assert.Contains(t, post(t, f.url, first, noteMessage("still there")), "still there")
		return
	}
	t.Fatal("the worker took more sessions than it may have files open")
}
