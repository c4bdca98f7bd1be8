package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// swapped returns a workspace in which build/out is granted, and a function that replaces build by a link to a
// directory outside.
func swapped(t *testing.T) (ws, outside string, swap func()) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws, outside = filepath.Join(base, "ws"), filepath.Join(base, "outside")
	for _, dir := range []string{filepath.Join(ws, "build", "out"), filepath.Join(outside, "out"),
		filepath.Join(base, "other")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(outside, "out", "secret"), []byte("told"), 0o600))
	build := filepath.Join(ws, "build")
	return ws, outside, func() {
		require.NoError(t, os.Rename(build, filepath.Join(ws, "aside")))
		require.NoError(t, os.Symlink(outside, build))
	}
}

// A grant is for what it named when checked, even if a link is put on the way before the command is confined or
// started.
func TestAGrantedPathIsNotFollowed(t *testing.T) {
	const script = "echo owned > build/out/owned; cat build/out/secret"
	grants := map[string]func(s *sandbox.Settings, path string){
		"write": func(s *sandbox.Settings, path string) { s.Write = []string{path} },
		"read":  func(s *sandbox.Settings, path string) { s.Read = []string{path} },
	}
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		for kind, grant := range grants {
			for _, when := range []string{"before", "between", "never"} {
				t.Run(kind+" "+when, func(t *testing.T) {
					ws, outside, swap := swapped(t)
					s := sandbox.Settings{Level: level, Mask: []string{outside}}
					grant(&s, filepath.Join(ws, "build", "out"))
					p := s.Policy(filepath.Join(filepath.Dir(ws), "other"))
					cmd := exec.Command("/bin/sh", "-c", script)
					cmd.Dir = ws
					if when == "before" {
						swap()
					}
					_, err := sandbox.Apply(cmd, p)
					if when == "before" {
						require.ErrorContains(t, err, "leads to "+filepath.Join(outside, "out")+" now")
						return
					}
					require.NoError(t, err)
					if when == "between" {
						swap()
					}
					out, _ := cmd.CombinedOutput()
					for _, file := range cmd.ExtraFiles {
						_ = file.Close()
					}
					assert.NoFileExists(t, filepath.Join(outside, "out", "owned"))
					assert.NotContains(t, string(out), "told")
					if when == "never" && kind == "write" {
						assert.FileExists(t, filepath.Join(ws, "build", "out", "owned"), "control: %s", out)
					}
				})
			}
		}
	})
}
