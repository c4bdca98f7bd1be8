package testfilter

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func TestBehind(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		rules []Rule
		want  string
	}{
		"control":      {nil, "made\nmoved\n"},
		"a call":       {[]Rule{{Call: unix.SYS_CHDIR, Errno: unix.ENOSYS}}, "made\n"},
		"an argument":  {[]Rule{{Call: unix.SYS_UMASK, Errno: unix.EPERM, Bits: 0o7}, {Call: unix.SYS_CHDIR, Errno: unix.EPERM}}, "made\n"},
		"another":      {[]Rule{{Call: unix.SYS_CHDIR, Errno: unix.ENOSYS, Arg: 5, Bits: 1 << 31}}, "made\nmoved\n"},
		"another call": {[]Rule{{Call: unix.SYS_MOUNT, Errno: unix.EPERM}}, "made\nmoved\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := Behind(t, exec.Command(shell, "-c", "echo made; cd / 2>/dev/null && echo moved || true"), c.rules...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Equal(t, c.want, string(out))
		})
	}
}
