package attack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// writingServer is an MCP server whose tool writes files of the workspace.
const writingServer = `while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id": *\([0-9][0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*) answer='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}' ;;
	*'"tools/list"'*) answer='{"tools":[{"name":"do","description":"Write. Returns: nothing.","inputSchema":{"type":"object"}}]}' ;;
	*'"tools/call"'*)
		printf owned >ok.txt
		answer='{"content":[{"type":"text","text":"done"}]}' ;;
	*) continue ;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
`

// peersThatWrite are the blocks of a plugin and a server that write ok.txt themselves, in processes
// that serve many calls.
func peersThatWrite(a *arena) map[string]string {
	return map[string]string{
		"plugin": evil(a, "plugin", ""),
		"mcp":    "mcp \"up\" {\n  command  = [\"sh\", \"server.sh\"]\n  protocol = \"2025-06-18\"\n}\n",
	}
}

// Files that a plugin or MCP server writes itself, without toolhost's tools, are effects of the call:
// listed, undone and redone.
func TestWhatPeersWriteComesBack(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range []stance{usual(), weakest()} {
		for _, peer := range []string{"plugin", "mcp"} {
			t.Run(s.String()+"/"+peer, func(t *testing.T) {
				t.Parallel()
				tally.note(tally.cases, "plugins", s.String()+": what the "+peer+" writes comes back")
				a, r := writtenBy(t, s, peer, s.block())
				assert.Contains(t, r.said[0], `"files_affected":["ok.txt"]`)
				out, err := a.run(nil, "log")
				require.NoError(t, err, out)
				assert.Regexp(t, `k7f2 +\S+ +do .* ok\.txt\n`, out)
				for _, turn := range []struct{ verb, want string }{{"undo", "fine\n"}, {"redo", "owned"}, {"undo", "fine\n"}} {
					out, err = a.run(nil, turn.verb)
					require.NoError(t, err, out)
					a.holds(turn.want)
				}
			})
		}
	}
}

// Control: changes are not watched.
func TestWhatUnwatchedPeersWriteStays(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, peer := range []string{"plugin", "mcp"} {
		t.Run(peer, func(t *testing.T) {
			t.Parallel()
			a, r := writtenBy(t, usual(), peer, usual().unwatched())
			assert.NotContains(t, r.said[0], "ok.txt")
			out, err := a.run(nil, "undo")
			require.Error(t, err, out)
			var found []violation
			if data, _ := os.ReadFile(filepath.Join(a.ws, "ok.txt")); string(data) == "owned" {
				found = append(found, violation{checkWhole, "ok.txt"})
			}
			control(t, "plugins", "what the "+peer+" writes, unwatched", checkWhole, found)
		})
	}
}

func writtenBy(t *testing.T, s stance, peer, block string) (*arena, *result) {
	t.Helper()
	a := newArenaFor(t, s, map[string]string{"server.sh": writingServer})
	a.write(a.ws, "agent.hcl", peersThatWrite(a)[peer]+block, 0o644)
	a.arm()
	r := a.cli(nil, "", "do", harm("write", a.fill("{WS}/ok.txt")))
	require.False(t, r.failed, "%s", r.said)
	a.holds("owned")
	return a, r
}

func (a *arena) holds(want string) {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.ws, "ok.txt"))
	require.NoError(a.t, err)
	require.Equal(a.t, want, string(data))
}
