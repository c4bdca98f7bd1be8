package attack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// mostAnswer bounds answers unless length was requested.
const mostAnswer = 1 << 20

// An answer does not grow with its subject: an error repeats its input.
func TestAnswersAreBounded(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	unknown := make(map[string]int)
	for i := range 100_000 {
		unknown[fmt.Sprintf("unknown_%d", i)] = i
	}
	keys, err := json.Marshal(unknown)
	require.NoError(t, err)
	for name, c := range map[string]struct{ toolset, tool, params string }{
		"unknown keys":         {"", "read_file", string(keys)},
		"long unreadable line": {"clemini", "bash", command(t, "rm "+strings.Repeat("a", 3<<20))},
		"long path":            {"", "read_file", `{"path":"` + strings.Repeat("a/", 1<<20) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, nil)
			a.arm()
			r := onCommandLine(t, a, nil, c.toolset,
				attack{group: "bounds", name: name, tool: c.tool, params: c.params})
			assert.NotEmpty(t, r.code)
			for _, said := range r.said {
				assert.Less(t, len(said), mostAnswer)
			}
		})
	}
}

// Another server's answers are bounded too, unless the operator allows more.
func TestAnswersOfPeersAreBounded(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, limit := range []string{"", "limits {\n  output = \"8MiB\"\n}\n"} {
		a := newArena(t,
			map[string]string{"agent.hcl": limit + upstream(""), "tools.json": offering("Says much.", "flood")})
		a.arm()
		r := onCommandLine(t, a, nil, "",
			attack{group: "bounds", name: "a server's long answer " + limit, tool: "flood", params: `{}`,
				want: []string{""}})
		if limit == "" {
			assert.Less(t, len(r.text), mostAnswer+1000)
			assert.Contains(t, r.text, "Ask for less")
			continue
		}
		var found []violation
		if len(r.text) > mostAnswer {
			found = append(found, violation{checkResult, "a long answer"})
		}
		control(t, "bounds", "a long answer that is allowed", checkResult, found)
	}
}

// Output that the operator allows is not cut: the bound is on errors.
func TestAnswerBoundControls(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": "limits {\n  output = \"8MiB\"\n}\n",
		"big.txt": strings.Repeat("0123456789abcde\n", 1<<17)})
	a.arm()
	r := a.cli(nil, "", "head", `{"args":"-n 131072 big.txt"}`)
	var found []violation
	if len(r.said[0]) > mostAnswer {
		found = append(found, violation{checkResult, "a long answer"})
	}
	control(t, "bounds", "asked for", checkResult, found)
}
