package plugins_test

import (
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/run/reexec"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// TestMain makes the test binary a plugin, so that tests have a real process without building one.
func TestMain(m *testing.M) {
	reexec.Answers()
	if len(os.Args) == 4 && os.Args[1] == "internal" && os.Args[2] == "plugin" {
		sdk.Serve(faultyPlugin())
		return
	}
	if kind := os.Getenv("TEST_PLUGIN"); kind != "" {
		servePlugin(kind)
		return
	}
	os.Exit(m.Run())
}
