package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// hostCache is toolhost's cache below the arena's home: what servers and plugins said, stored
// questions, counts.
const hostCache = "cache/toolhost"

// ownedCache reports what an attack put into, or read from, the host's cache.
func (a *arena) ownedCache(said string) (found []violation) {
	if _, err := os.Stat(filepath.Join(a.home, hostCache, "owned")); err == nil {
		found = append(found, violation{checkWhole, "owned"})
	}
	return append(found, a.inspect(said)...)
}

// Processes in a tree with the home directory can neither read nor write the host's cache, existing or
// not.
func TestHostCacheFromCommands(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	scripts := append([]string{"cat %[1]s/mcp/kept; ls -R %[1]s"}, plantInHost...)
	play := func(t *testing.T, a *arena, there bool, script string) *result {
		if there {
			a.write(a.home, hostCache+"/mcp/kept", a.secret, 0o600)
		}
		params, err := json.Marshal(map[string]string{"script": a.fill(fmt.Sprintf(script,
			filepath.Join(a.home, hostCache)))})
		require.NoError(t, err)
		return a.cli([]string{"TOOLHOST_UNDO=optional"}, "", "plant", string(params))
	}
	for _, s := range stances() {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", s, there), func(t *testing.T) {
				t.Parallel()
				a := homeArena(t, s, string(s.level), true)
				for _, script := range scripts {
					tally.note(tally.cases, "sandbox", fmt.Sprint("cache ", s, there, script))
					r := play(t, a, there, script)
					assert.Empty(t, a.ownedCache(r.text), "%s: %s", script, r.said)
				}
			})
		}
	}
	for _, script := range scripts[:2] {
		a := homeArena(t, stance{sandbox.Off, os.Geteuid()}, "off", true)
		assert.NotEmpty(t, a.ownedCache(play(t, a, true, script).text), "control: nothing is confined")
		tally.note(tally.controls, "sandbox", "the host's cache where nothing is confined: "+script)
	}
}

// The same for file tools, in this host process and in others.
func TestHostCacheFromFileTools(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for toolset, names := range map[string][3]string{"": {"write_file", "read_file", "path"},
		"cliagent": {"create_file", "read_file", "path"}, "clemini": {"write_file", "read_file", "file_path"}} {
		t.Run(toolset, func(t *testing.T) {
			t.Parallel()
			a := homeArena(t, usual(), string(usual().level), true)
			a.write(a.home, hostCache+"/mcp/kept", a.secret, 0o600)
			h := a.serve([]string{"TOOLHOST_UNDO=optional"}, toolsetArgs(toolset)...)
			use := func(tool, path string) *result {
				params := map[string]string{names[2]: filepath.Join(a.home, path)}
				if tool == names[0] {
					params["content"] = "owned"
				}
				data, err := json.Marshal(params)
				require.NoError(t, err)
				return h.call(tool, string(data))
			}
			tally.note(tally.cases, "protect", "cache "+toolset)
			for _, tool := range names[:2] {
				for _, name := range []string{"/owned", "/mcp/kept"} {
					r := use(tool, hostCache+name)
					assert.True(t, r.failed, "%s: %s", tool, r.text)
					assert.Empty(t, a.ownedCache(r.text))
				}
			}
			tally.note(tally.controls, "protect", toolset+" beside the host's cache")
			use(names[0], "cache/other/owned")
			assert.FileExists(t, filepath.Join(a.home, "cache", "other", "owned"))
			assert.Empty(t, h.stop())
		})
	}
}
