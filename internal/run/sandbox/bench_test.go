package sandbox_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// BenchmarkExec runs `true` bare and at every level.
func BenchmarkExec(b *testing.B) {
	path, err := proc.LookPath("true", "")
	require.NoError(b, err)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, exec.Command(path).Run())
		}
	})
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Landlock, sandbox.Full} {
		b.Run(string(level), func(b *testing.B) {
			p := sandbox.Policy{Level: level, Workspace: b.TempDir()}
			c := proc.Command{Argv: []string{path}, Env: proc.Environ(nil), Prepare: func(cmd *exec.Cmd) error {
				_, err := sandbox.Apply(cmd, p)
				return err
			}}
			for b.Loop() {
				r, err := proc.Run(b.Context(), c)
				require.NoError(b, err)
				require.Zero(b, r.ExitCode, r.Stderr.String())
			}
		})
	}
}

// BenchmarkApply is the part that happens in the host.
func BenchmarkApply(b *testing.B) {
	for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Full} {
		b.Run(string(level), func(b *testing.B) {
			p := sandbox.Policy{Level: level, Workspace: b.TempDir()}
			for b.Loop() {
				_, err := sandbox.Apply(exec.Command("/bin/true"), p)
				require.NoError(b, err)
			}
		})
	}
}
