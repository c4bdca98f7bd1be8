package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestAFullDiskLosesNothing(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		testneed.Missing(t, fmt.Sprintf("a small file system cannot be mounted here: %v", err))
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	plant(t, dir, texts{"a.txt": "keep\n"})
	s := serve(t, dir)
	big := strings.Repeat("y", 400<<10)
	for _, call := range [][2]string{
		{"write_file", `{"path":"a.txt","content":"` + big + `"}`},
		{"write_file", `{"path":"new.txt","content":"` + big + `"}`},
		{"append_file", `{"path":"a.txt","content":"` + big + `"}`},
		{"edit_file", `{"path":"a.txt","old_str":"keep","new_str":"` + big + `"}`},
		{"multi_edit", `{"file_path":"a.txt","edits":[{"old_string":"keep","new_string":"` + big + `"}]}`},
	} {
		r := s.call(call[0], call[1])
		assert.True(t, r.IsError, call[0])
		assert.Contains(t, r.text(), "no space left", call[0])
		assert.Contains(t, r.text(), "Free", "a next step")
	}
	data, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "keep\n", string(data))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.Equal(t, []string{"a.txt"}, names, "no half file and no temporary one is left")
	assert.Equal(t, "keep\n", s.call("read_file", `{"path":"a.txt"}`).text(), "the server goes on")
}

// A failed write is reported with a next step, and not as written.
func TestFormatOnAFullDisk(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		testneed.Missing(t, fmt.Sprintf("a small file system cannot be mounted here: %v", err))
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	ugly := "workspace {\n   root=\".\"\n}\n"
	plant(t, dir, texts{"agent.hcl": ugly})
	_ = os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o644)
	cmd := program(t, dir, "fmt")
	out, err := cmd.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Empty(t, string(out))
	assert.Regexp(t, `agent\.hcl cannot be written: .*no space left[^\n]*\n  Make room`, string(exit.Stderr))
	data, err := os.ReadFile(filepath.Join(dir, "agent.hcl"))
	require.NoError(t, err)
	assert.Equal(t, ugly, string(data))
}
