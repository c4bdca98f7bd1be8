package project

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/store/approval"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// TestModelBlock asks through the model block, again after a change, and after its removal.
func TestModelBlock(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-from-env" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"hello"}}]}`)
	}))
	defer server.Close()
	t.Setenv("TEST_MODEL_KEY", "sk-from-env")
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.hcl")
	block := fmt.Sprintf(`model {
		url   = "%s/v1"
		model = "small"
		key   = env("TEST_MODEL_KEY")
	}`, server.URL)
	require.NoError(t, os.WriteFile(file, []byte(block), 0o600))
	p := openTest(t, file)

	response, err := p.sample(t.Context(), tool.SampleRequest{Prompt: "x"})
	require.NoError(t, err)
	assert.Equal(t, &tool.SampleResponse{Text: "hello", Model: "small"}, response)

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, p.Reload(t.Context()))
	_, err = p.sample(t.Context(), tool.SampleRequest{Prompt: "x"})
	assert.ErrorIs(t, err, host.ErrNoModel)
}

func openTest(t *testing.T, file string) *Project {
	t.Helper()
	read := func() (*config.Config, error) {
		cfg, diags := config.Load(file, config.LoadOptions{})
		return cfg, diags.Err()
	}
	cfg, err := read()
	require.NoError(t, err)
	p, err := Open(t.Context(), Options{
		Config: cfg, Reread: read, Logger: slog.New(slog.DiscardHandler),
		Report:       func(diags config.Diagnostics) error { return diags.Err() },
		OnSecrets:    func(*redact.Redactor) {},
		Telemetry:    func(string) *telemetry.Relay { return nil },
		HowToApprove: func(approval.Pending, string) string { return "" },
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}
