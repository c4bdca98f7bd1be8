package attack

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// hostPlaces are the directories of the host's trusted data, below the arena's home.
var hostPlaces = []string{".local/state/toolhost", "config/toolhost"}

// plantInHost are ways to put something there (%s).
var plantInHost = []string{
	"mkdir -p %[1]s; echo owned > %[1]s/owned",
	"cd %[1]s && echo owned > owned",
	"mv $(dirname %[1]s) {HOME}/aside; mkdir -p %[1]s; echo owned > %[1]s/owned",
	"rm -rf $(dirname %[1]s); mkdir -p %[1]s; echo owned > %[1]s/owned",
	"mkdir -p {HOME}/new/toolhost; echo owned > {HOME}/new/toolhost/owned; mv -T {HOME}/new $(dirname %[1]s)",
	"rmdir %[1]s; ln -s {WS}/mine %[1]s; mkdir mine; echo owned > mine/owned",
}

func (a *arena) owned() (found []violation) {
	for _, place := range hostPlaces {
		dir, err := filepath.EvalSymlinks(filepath.Join(a.home, place))
		if err != nil {
			continue
		}
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Base(path) == "owned" {
				found = append(found, violation{checkWhole, path})
			}
			return nil
		})
	}
	return found
}

// homeArena is an arena whose tools may use the whole home directory.
func homeArena(t *testing.T, s stance, level string, there bool) *arena {
	a := newArenaFor(t, s, map[string]string{"agent.hcl": planting +
		"workspace {\n  allow = [\"../home\"]\n}\nsandbox {\n  level = \"" + level + "\"\n}\n"})
	for _, place := range hostPlaces {
		if there {
			a.write(a.home, place+"/kept", "kept\n", 0o600)
		}
	}
	a.arm()
	return a
}

// Processes in a tree with the home directory cannot write the host's trusted data there, existing or
// not.
func TestHostStateFromCommands(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range stances() {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", s, there), func(t *testing.T) {
				t.Parallel()
				a := homeArena(t, s, string(s.level), there)
				h := a.serve([]string{"TOOLHOST_UNDO=optional"})
				for _, place := range hostPlaces {
					for _, script := range plantInHost {
						script = a.fill(fmt.Sprintf(script, filepath.Join(a.home, place)))
						tally.note(tally.cases, "sandbox", fmt.Sprint(s, there, script))
						params, err := json.Marshal(map[string]string{"script": script})
						require.NoError(t, err)
						r := h.call("plant", string(params))
						assert.Empty(t, a.owned(), "%s: %s", script, r.said)
					}
				}
				assert.Empty(t, h.stop())
			})
		}
	}
	a := homeArena(t, stance{sandbox.Off, os.Geteuid()}, "off", false)
	params, err := json.Marshal(map[string]string{"script": fmt.Sprintf(plantInHost[0],
		filepath.Join(a.home, hostPlaces[0]))})
	require.NoError(t, err)
	a.cli([]string{"TOOLHOST_UNDO=optional"}, "", "plant", string(params))
	control(t, "sandbox", "the host's state where nothing is confined", checkWhole, a.owned())
}

// The same for file tools, in this host process and in others.
func TestHostStateFromFileTools(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for toolset, tool := range map[string]string{"": "write_file", "cliagent": "create_file", "clemini": "write_file"} {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", toolset, there), func(t *testing.T) {
				t.Parallel()
				a := homeArena(t, usual(), string(usual().level), there)
				h := a.serve([]string{"TOOLHOST_UNDO=optional"}, toolsetArgs(toolset)...)
				name := map[string]string{"clemini": "file_path"}[toolset]
				if name == "" {
					name = "path"
				}
				write := func(path string) *result {
					params, err := json.Marshal(map[string]string{name: path, "content": "owned"})
					require.NoError(t, err)
					return h.call(tool, string(params))
				}
				for _, place := range hostPlaces {
					tally.note(tally.cases, "protect", fmt.Sprint(toolset, there, place))
					r := write(filepath.Join(a.home, place, "owned"))
					assert.True(t, r.failed, "%s", r.text)
					assert.Empty(t, a.owned(), "%s", r.text)
				}
				if toolset == "" {
					r := h.call("mv", `{"args":"ok.txt `+a.home+`/.local/state/toolhost/owned"}`)
					assert.Empty(t, a.owned(), "%s", r.text)
					r = h.call("mv", `{"args":"`+a.home+`/.local `+a.home+`/aside"}`)
					assert.NoDirExists(t, filepath.Join(a.home, "aside"), "%s", r.text)
				}
				tally.note(tally.controls, "protect", toolset+" beside the host's state")
				r := write(filepath.Join(a.home, "notes", "owned"))
				assert.FileExists(t, filepath.Join(a.home, "notes", "owned"), strings.Join(r.said, "\n"))
				assert.Empty(t, h.stop())
			})
		}
	}
}
