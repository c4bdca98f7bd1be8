package architect_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect"
)

func analyzer(t *testing.T, options architect.Options) *architect.Analyzer {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o644))
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	return architect.New(ws, options)
}

func TestAnalyze(t *testing.T) {
	testneed.NotShort(t, "waits for a program")
	binary := filepath.Join(t.TempDir(), architect.BinaryName)
	out, err := exec.Command("go", "build", "-o", binary,
		"github.com/toolhost/toolhost/cmd/toolhost-architect").CombinedOutput()
	require.NoError(t, err, string(out))
	confined := false
	a := analyzer(t, architect.Options{Binary: binary, Prepare: func(*exec.Cmd) error { confined = true; return nil }})

	reply, err := a.Analyze(context.Background(),
		architect.Request{Path: ".", Kind: architect.Overview, Format: architect.Text, Depth: 3})
	require.NoError(t, err)
	assert.True(t, confined)
	assert.Contains(t, reply.Output, "1 file in 1 directory, 1 line of code")
	assert.Equal(t, []string{"Go"}, reply.Summary.Languages)

	for name, test := range map[string]struct {
		request architect.Request
		code    tool.Code
	}{
		"missing":     {architect.Request{Path: "nowhere", Kind: architect.Overview}, tool.NotFound},
		"outside":     {architect.Request{Path: "..", Kind: architect.Overview}, tool.PathOutsideWorkspace},
		"a file":      {architect.Request{Path: "a.go", Kind: architect.Overview}, tool.NotADirectory},
		"no analysis": {architect.Request{Path: ".", Kind: "poem"}, tool.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a.Analyze(context.Background(), test.request)
			require.Error(t, err)
			e := tool.AsError(err)
			assert.Equal(t, test.code, e.Code)
			assert.NotEmpty(t, e.Suggestion)
		})
	}
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := analyzer(t, architect.Options{}).Analyze(context.Background(),
		architect.Request{Path: ".", Kind: architect.Overview})
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
}

func TestProgramThatBreaks(t *testing.T) {
	for name, script := range map[string]string{"dies": "exit 3", "talks nonsense": "echo hello"} {
		t.Run(name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "child")
			testfile.Program(t, binary, "#!/bin/sh\n"+script+"\n")
			_, err := analyzer(t, architect.Options{Binary: binary}).Analyze(context.Background(),
				architect.Request{Path: ".", Kind: architect.Overview})
			assert.Equal(t, tool.Internal, tool.CodeOf(err))
		})
	}
}

func TestTimeout(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "child")
	testfile.Program(t, binary, "#!/bin/sh\n"+string(testproc.Sleep(t))+"\n")
	_, err := analyzer(t, architect.Options{Binary: binary,
		Timeout: 50 * time.Millisecond}).Analyze(context.Background(),
		architect.Request{Path: ".", Kind: architect.Overview})
	assert.Equal(t, tool.Timeout, tool.CodeOf(err))
}
