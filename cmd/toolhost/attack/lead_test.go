package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// leadPlace is the file that leads the user's browser to a console, below the arena's home
// (TestConsoleOpensABrowser in internal/face/console/bundle).
const leadPlace = ".local/state/toolhost/console/open-1.html"

// leadWords are in that file, like the code.
const leadWords = "0123456789abcdef-lead"

// readingLeads are ways to read it.
var readingLeads = []string{
	"cat {LEAD}", "cd $(dirname {LEAD}) && cat *", "cp {LEAD} got; cat got", "ln -s {LEAD} here; cat here",
	"ln {LEAD} here2; cat here2",
	"mv {LEAD} got2; cat got2", "cat /proc/self/root{LEAD}", "tar cf - -C {HOME} .local", "grep -r lead {HOME}",
	"find {HOME} -type f -exec cat {} +", "mv {HOME}/.local {HOME}/aside; find {HOME} -type f -exec cat {} +",
}

// Confined commands and file tools cannot reach the file with a console's code, even if they may use
// the whole home directory, and whether or not it existed when their session began.
func TestAFileThatLeadsToTheConsole(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	fill := func(a *arena, script string) string {
		return strings.ReplaceAll(a.fill(script), "{LEAD}", filepath.Join(a.home, leadPlace))
	}
	read := func(a *arena, script string) string {
		params, err := json.Marshal(map[string]string{"script": fill(a, script)})
		require.NoError(t, err)
		return strings.Join(a.cli([]string{"TOOLHOST_UNDO=optional"}, "", "plant", string(params)).said, "\n")
	}
	for _, s := range stances() {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", s, there), func(t *testing.T) {
				t.Parallel()
				a := homeArena(t, s, string(s.level), there)
				h := a.serve([]string{"TOOLHOST_UNDO=optional"})
				h.call("plant", `{"script":"true"}`)
				a.write(a.home, leadPlace, leadWords, 0o600)
				path := filepath.Join(a.home, leadPlace)
				for _, script := range readingLeads {
					tally.note(tally.cases, "console", fmt.Sprint(s, there, script))
					params, err := json.Marshal(map[string]string{"script": fill(a, script)})
					require.NoError(t, err)
					r := h.call("plant", string(params))
					assert.NotContains(t, strings.Join(r.said, "\n")+r.text, leadWords, script)
				}
				for tool, params := range map[string]string{"read_file": `{"path":"` + path + `"}`,
					"cat": `{"args":"` + path + `"}`, "search": `{"pattern":"lead","path":"` + a.home + `"}`} {
					tally.note(tally.cases, "console", fmt.Sprint(s, there, tool))
					r := h.call(tool, params)
					assert.NotContains(t, strings.Join(r.said, "\n")+r.text, leadWords, tool)
				}
				data, err := os.ReadFile(path)
				assert.NoError(t, err)
				assert.Equal(t, leadWords, string(data))
				assert.Empty(t, h.stop())
			})
		}
	}
	a := homeArena(t, stance{sandbox.Off, os.Geteuid()}, "off", true)
	a.write(a.home, leadPlace, leadWords, 0o600)
	var found []violation
	if strings.Contains(read(a, readingLeads[0]), leadWords) {
		found = append(found, violation{checkSecret, "the file that leads to the console"})
	}
	control(t, "console", "the file that leads to the console, where nothing is confined", checkSecret, found)
}
