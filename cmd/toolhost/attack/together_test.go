package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/test/testfile"
)

type script struct{ name, text string }

// together has one call run scripts in sequence, each in its own shell, and makes all checks after it,
// since a call takes longer than most scripts. No script may undo an earlier one's effect. Their output
// goes to a file of the workspace, where secrets are looked for too.
func together(t *testing.T, h *host, x attack, params func(*testing.T, string) string, scripts []script) {
	t.Helper()
	var line strings.Builder
	for _, s := range scripts {
		tally.note(tally.cases, x.group, x.name+s.name)
		fmt.Fprintf(&line, "(\n%s\n) >>said 2>&1\n", s.text)
	}
	line.WriteString("echo all >tried\n")
	t.Run(x.name+scripts[0].name+" and others", func(t *testing.T) {
		r := h.call(x.tool, params(t, h.a.fill(line.String())))
		x.judge(t, r, h.inspect(r))
		tried := filepath.Join(h.a.ws, "tried")
		assert.Equal(t, "all\n", testfile.Read(t, tried), "not all were tried: %s", r.text)
		assert.NoError(t, os.Remove(tried))
		_ = os.Remove(filepath.Join(h.a.ws, "said"))
		h.a.before = h.a.snapshot()
	})
}
