package attack

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// The two contents between which files change, long enough for a write to take a while.
var (
	oldText = strings.Repeat("old line of a file that is long\n", 12000)
	newText = strings.Repeat("new line of a file that is long\n", 12000)
)

// edits are the ways to change a file from one to the other and back.
var edits = map[string]func(to string) (tool, params string){
	"write_file": func(to string) (string, string) { return "write_file", object("path", "f.txt", "content", to) },
	"edit_file": func(to string) (string, string) {
		if to == newText {
			return "edit_file", object("path", "f.txt", "old_str", oldText, "new_str", newText)
		}
		return "edit_file", object("path", "f.txt", "old_str", newText, "new_str", oldText)
	},
	"multi_edit": func(to string) (string, string) {
		from := map[string]string{newText: "old", oldText: "new"}[to]
		data, _ := json.Marshal(map[string]any{"file_path": "f.txt",
			"edits": []map[string]any{{"old_string": from + " line", "new_string": to[:3] + " line",
				"replace_all": true}}})
		return "multi_edit", string(data)
	},
}

func object(pairs ...string) string {
	m := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	data, _ := json.Marshal(m)
	return string(data)
}

// TestKills kills the host during edits, repeatedly: 300 times with make long.
func TestKills(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	kills := 12
	if testneed.Long() {
		kills = 100
	}
	for how, edit := range edits {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "faults", "kill -9 in "+how)
			a := newArena(t, map[string]string{"f.txt": oldText})
			a.whole["f.txt"] = []string{oldText, newText}
			a.arm()
			for range kills {
				killOnce(t, a, edit)
			}
			h := a.serve(nil)
			require.False(t, h.call("write_file", `{"path":"after.txt","content":"x"}`).failed)
			for _, v := range h.inspect(new(result)) {
				t.Errorf("after the next start: %s: %s", v.check, v.what)
			}
			for _, v := range h.stop() {
				t.Errorf("after the end: %s: %s", v.check, v.what)
			}
		})
	}
}

// killOnce lets a host edit continuously and kills it at a random moment. The next host sweeps a killed
// one's leftovers, so only wholeness is checked here.
func killOnce(t *testing.T, a *arena, edit func(string) (string, string)) {
	h := a.serve(nil)
	data, err := os.ReadFile(filepath.Join(a.ws, "f.txt"))
	require.NoError(t, err)
	require.Contains(t, a.whole["f.txt"], string(data), "the file is torn")
	next := newText
	if string(data) == newText {
		next = oldText
	}
	first := make(chan bool)
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range 200 {
			tool, params := edit(next)
			id := h.startCall(tool, params)
			if h.wait(id, patience) == nil {
				return
			}
			if i == 0 {
				close(first)
			}
			next = map[string]string{oldText: newText, newText: oldText}[next]
		}
	})
	select {
	case <-first:
	case <-time.After(patience):
		t.Fatal("no edit was done: " + h.stderr.String())
	}
	time.Sleep(rand.N(15 * time.Millisecond))
	_ = h.cmd.Process.Kill()
	testproc.Receive(h.a.t, h.done, "the end of the host")
	writer.Wait()
}

// editNaively writes in place, as a careless editor does.
func editNaively() {
	for text := newText; ; text = map[string]string{oldText: newText, newText: oldText}[text] {
		_ = os.WriteFile("f.txt", []byte(strings.Repeat(text, 8)), 0o644)
	}
}

func TestKillControl(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	a := newArena(t, map[string]string{"f.txt": strings.Repeat(oldText, 8)})
	a.whole["f.txt"] = []string{strings.Repeat(oldText, 8), strings.Repeat(newText, 8)}
	a.arm()
	var found []violation
	for range 50 {
		cmd := exec.Command(self)
		cmd.Dir, cmd.Env = a.ws, a.env("ATTACK_ROLE=edit")
		require.NoError(t, cmd.Start())
		path := filepath.Join(a.ws, "f.txt")
		was := describe(path)
		require.True(t, within(patience, func() bool { return describe(path) != was }), "it has begun")
		time.Sleep(rand.N(10 * time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if found = a.inspect(); len(found) > 0 {
			break
		}
	}
	control(t, "faults", "kill -9 of a naive editor", checkWhole, found)
}
