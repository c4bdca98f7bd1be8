package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// A process without a block's grant changes nothing in the block's caches: its next run would execute that with
// the grant.
func TestGrantedCachesAreNotLent(t *testing.T) {
	ways := []string{
		"echo evil > $C/npm/program", "echo evil >> $C/npm/program", "rm $C/npm/program", "mv $C/npm/program x",
		"echo evil > x; mv x $C/npm/program", "echo evil > x; ln -f x $C/npm/program", "ln -sf /bin/false $C/npm/program",
		"chmod 777 $C/npm/program", "truncate -s 0 $C/npm/program", "dd if=/dev/zero of=$C/npm/program count=1",
		"rm -rf $C", "rm -rf $C/..", "mv $C y", "mv $C/.. y", "mv .agent y", "mv .agent/cache y",
		"mv .agent/cache/granted y; mkdir -p $C/npm; echo evil > $C/npm/program", "echo evil > $C/npm/new", "mkdir $C/new",
		"ln -s $C/npm l; echo evil > l/program", "cd $C/npm; echo evil > program", "echo evil > $C/../../granted/tool-a/npm/program",
		"echo evil > /proc/self/cwd/$C/npm/program", "touch $C/npm/program", "ln $C/npm/program h; echo evil > h",
		"exec 3<$C/npm/program; echo evil > /proc/self/fd/3", "cp /bin/true $C/npm/program", "mkdir z; mv -T z $C/npm",
		"mv -T $C/npm z", "rm -rf .agent",
	}
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		work, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		cache := sandbox.GrantedCache(work, "tool-a")
		require.NoError(t, sandbox.MakeCache(work, cache))
		program := filepath.Join(cache, "npm", "program")
		settings := sandbox.Settings{Level: level, Keep: []string{cache}}
		attempt := func(settings sandbox.Settings, way string) {
			_, err := proc.Run(t.Context(), command(settings.Policy(work), "/bin/sh", "-c", "C=.agent/cache/granted/tool-a; "+way))
			require.NoError(t, err)
		}
		for _, way := range ways {
			require.NoError(t, os.WriteFile(program, []byte("good"), 0o600))
			attempt(settings, way)
			data, err := os.ReadFile(program)
			require.NoError(t, err, way)
			assert.Equal(t, "good", string(data), way)
			entries, err := os.ReadDir(cache)
			require.NoError(t, err, way)
			assert.Len(t, entries, 5, way)
		}
		attempt(settings.WithCache(work, "tool-a"), ways[0]) // the control
		data, err := os.ReadFile(program)
		require.NoError(t, err)
		assert.Equal(t, "evil\n", string(data))
	})
}
