package attack

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// onFullDisk runs the program with a private mount of 128 KiB for its state.
func (a *arena) onFullDisk(unshare string, env []string, args ...string) *exec.Cmd {
	cmd := a.program(env, args...)
	script := `mount -t tmpfs -o size=128k,mode=0777 none "$HOME/.local/state" && exec "$@"`
	cmd.Args = append([]string{unshare, "-Urm", "sh", "-c", script, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = unshare
	return cmd
}

// A full disk prevents a call whose effect could not be undone.
func TestFaultsOfAFullDisk(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	unshare := testneed.Program(t, "unshare")
	if out, err := exec.Command(unshare, "-Urm", "sh", "-c",
		"mount -t tmpfs -o size=64k none /mnt").CombinedOutput(); err != nil {
		testneed.Missing(t, "this user may not mount a file system: "+strings.TrimSpace(string(out)))
	}
	data := make([]byte, 1<<20)
	_, _ = rand.Read(data) // incompressible
	prepare := func() *arena {
		a := newArena(t, map[string]string{"big.bin": string(data)})
		require.NoError(t, os.MkdirAll(filepath.Join(a.home, ".local/state"), 0o755))
		a.whole["big.bin"] = []string{string(data)}
		a.arm()
		return a
	}
	for name, args := range map[string][]string{
		"remove":  {"call", "delete_file", "path=big.bin"},
		"replace": {"call", "write_file", "path=big.bin", "content=other"},
		"ocode":   {"call", "file_ops", "--toolset", "ocode", "operation=remove", "source=big.bin"},
		"clemini": {"call", "write_file", "--toolset", "clemini", "file_path=big.bin", "content=other"},
	} {
		a := prepare()
		tally.note(tally.cases, "faults", "a full disk: "+name)
		out, err := a.onFullDisk(unshare, nil, args...).CombinedOutput()
		assert.Error(t, err, "%s: %s", name, out)
		assert.Empty(t, a.inspect(string(out)), "%s: %s", name, out)
		assert.FileExists(t, filepath.Join(a.ws, "big.bin"), name)
	}
	a := prepare()
	out, err := a.onFullDisk(unshare, []string{"TOOLHOST_UNDO=optional"}, "call", "delete_file",
		"path=big.bin").CombinedOutput()
	require.NoError(t, err, "%s", out)
	control(t, "faults", "undo is optional on a full disk", checkWhole, a.inspect(string(out)))
}
