package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// Whatever is planted instead of toolhost's files, nothing goes outside.
func TestFaultsOfPlantedLinks(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, at := range []struct{ name, target string }{
		{".agent", "../outside"},
		{".agent/runs", "../../outside"},
		{".agent/runs/cli", "../../../outside"},
		{".agent/runs/cli/events.jsonl", "../../../../outside/secret.txt"},
		{".agent/runs/cli/steps", "../../../../outside/secret.txt"},
		{".agent/runs/cli/logs", "../../../../outside"},
		{".agent/undo", "../../outside"},
		{".agent/undo/journal", "../../../outside"},
		{".agent/undo/objects", "../../../outside"},
		{".agent/undo/lock", "../../../outside/secret.txt"},
		{".agent/undo/pruned", "../../../outside/secret.txt"},
		{".agent/undo/journal/s-cli.jsonl", "../../../../outside/secret.txt"},
		{".agent/memories.json", "../../outside/secret.txt"},
		{".agent/cache", "../../outside"},
		{".agent/cache/webfetch", "../../../outside"},
		{".agent/.gitignore", "../../outside/secret.txt"},
		{".agent/runs/.gitignore", "../../../outside/secret.txt"},
		{".toolhost-tmp-1-0123456789abcdef", "../outside/secret.txt"},
		{".toolhost-tmp-999999-0123456789abcdef", "../outside"},
	} {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			tally.note(tally.cases, "faults", "planted link "+at.name)
			a := newArena(t, nil)
			a.link(at.target, at.name)
			a.arm()
			for _, call := range [][2]string{
				{"write_file", `{"path":"made.txt","content":"1"}`},
				{"edit_file", `{"path":"ok.txt","old_str":"fine","new_str":"better"}`},
				{"todowrite", `{"todos_json":"[{\"content\":\"x\",\"status\":\"pending\",\"priority\":\"low\"}]"}`},
				{"head", `{"args":"-c 200000 big.txt"}`},
				{"delete_file", `{"path":"made.txt"}`},
			} {
				r := a.cli(nil, "", call[0], call[1])
				for _, v := range append(append(r.faults, a.inspect(r.said...)...), a.ended()...) {
					if v.check == checkLeft && strings.Contains(v.what, ".toolhost-tmp-") {
						continue // the planted link itself
					}
					t.Errorf("%s: %s: %s", call[0], v.check, v.what)
				}
			}
		})
	}
}

// Concurrent writers, in one host and in two, lose nothing.
func TestFaultsOfConcurrentWriters(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, hosts := range []int{1, 2} {
		for _, how := range []string{"append_file", "edit_file", "multi_edit"} {
			t.Run(fmt.Sprintf("%d hosts %s", hosts, how), func(t *testing.T) {
				t.Parallel()
				tally.note(tally.cases, "faults", fmt.Sprintf("concurrent %s of %d hosts", how, hosts))
				const each = 25
				var content strings.Builder
				for i := range each * hosts {
					fmt.Fprintf(&content, "old-%03d-\n", i)
				}
				a := newArena(t, map[string]string{"f.txt": content.String()})
				a.arm()
				var all sync.WaitGroup
				var running []*host
				for n := range hosts {
					h := a.serve(nil)
					running = append(running, h)
					var ids []string
					for i := range each {
						line := fmt.Sprintf("%03d", n*each+i)
						ids = append(ids, h.startCall(how, map[string]string{
							"append_file": `{"path":"f.txt","content":"new-` + line + `-\n"}`,
							"edit_file": `{"path":"f.txt","old_str":"old-` + line + `-","new_str":"new-` + line +
								`-"}`,
							"multi_edit": `{"file_path":"f.txt","edits":[{"old_string":"old-` + line +
								`-","new_string":"new-` + line + `-"}]}`,
						}[how]))
					}
					all.Go(func() {
						for _, id := range ids {
							answer := h.wait(id, patience)
							assert.NotContains(t, string(answer), `"isError":true`)
						}
					})
				}
				all.Wait()
				for _, h := range running {
					assert.Empty(t, h.inspect(new(result)))
					_ = h.in.Close()
					testproc.Receive(h.a.t, h.done, "the end of the host")
				}
				assert.Empty(t, append(a.inspect(), a.ended()...))
				data, err := os.ReadFile(filepath.Join(a.ws, "f.txt"))
				require.NoError(t, err)
				for i := range each * hosts {
					assert.Equal(t, 1, strings.Count(string(data), fmt.Sprintf("new-%03d-", i)), "line %d", i)
				}
			})
		}
	}
}

// A failed write leaves the old content.
func TestFaultsOfWrites(t *testing.T) {
	t.Parallel()
	a := newArena(t, map[string]string{"locked.txt": "locked\n", "a.txt": "keep\n", "dir/x": "x"})
	require.NoError(t, os.Chmod(filepath.Join(a.ws, "locked.txt"), 0o444))
	a.whole["locked.txt"], a.whole["a.txt"] = []string{"locked\n"}, []string{"keep\n"}
	a.whole["dir/x"] = []string{"x"}
	a.arm()
	var list []attack
	add := func(name, tool, params string, want ...string) {
		list = append(list, attack{group: "faults", name: name, tool: tool, params: params, want: want})
	}
	add("write a read-only file", "write_file", `{"path":"locked.txt","content":"x"}`, "permission_denied")
	add("append to a read-only file", "append_file", `{"path":"locked.txt","content":"x"}`, "permission_denied")
	add("edit a read-only file", "edit_file", `{"path":"locked.txt","old_str":"locked","new_str":"x"}`,
		"permission_denied")
	add("multi_edit a read-only file", "multi_edit",
		`{"file_path":"locked.txt","edits":[{"old_string":"locked","new_string":"x"}]}`, "permission_denied")
	add("write a directory", "write_file", `{"path":"dir","content":"x"}`, "is_directory", "invalid_argument",
		"conflict")
	add("delete a directory", "delete_file", `{"path":"dir"}`, "is_directory", "invalid_argument")
	add("an edit that fails at its second part", "multi_edit",
		`{"file_path":"a.txt","edits":[{"old_string":"keep","new_string":"x"},{"old_string":"none","new_string":"y"}]}`,
		"no_match")
	add("an edit of nothing", "edit_file", `{"path":"a.txt","old_str":"none","new_str":"x"}`, "no_match")
	add("an edit that changes nothing", "edit_file", `{"path":"a.txt","old_str":"keep","new_str":"keep"}`, "no_change",
		"invalid_argument")
	add("create what is there", "edit_file", `{"path":"a.txt","old_str":"","new_str":"x"}`, "already_exists")
	overMCP(t, a.serve(nil), list)

	b := newArena(t, map[string]string{"a.txt": "keep\n", "b.txt": "two\n"})
	b.whole["a.txt"], b.whole["b.txt"], b.whole["c.txt"] = []string{"keep\n"}, []string{"two\n"}, []string{"(missing)"}
	b.arm()
	list = nil
	patch := func(diff string) string {
		data, err := json.Marshal(map[string]string{"unified_diff": diff})
		require.NoError(t, err)
		return string(data)
	}
	good, bad := "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-keep\n+x\n",
		"--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-three\n+x\n"
	add("a patch whose second file does not fit", "apply_patch", patch(good+bad))
	add("a patch with a missing file", "apply_patch", patch(good+"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n"))
	add("a patch that escapes with its second file", "apply_patch",
		patch(good+"--- a/../outside/secret.txt\n+++ b/../outside/secret.txt\n@@ -1 +1 @@\n-x\n+y\n"))
	add("a patch that renames out", "apply_patch",
		patch("diff --git a/a.txt b/../outside/a.txt\nsimilarity index 100%\nrename from a.txt\nrename to ../outside/a.txt\n"))
	add("a patch that makes a link out", "apply_patch",
		patch("diff --git a/c.txt b/c.txt\nnew file mode 120000\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n"+
			"+../outside/secret.txt\n\\ No newline at end of file\n"))
	add("a patch that makes a submodule", "apply_patch",
		patch("diff --git a/c.txt b/c.txt\nnew file mode 160000\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n"+
			"+Subproject commit 0123456789012345678901234567890123456789\n"))
	add("a patch of a quoted name that leads out", "apply_patch",
		patch("--- \"a/\\056\\056/outside/secret.txt\"\n+++ \"b/\\056\\056/outside/secret.txt\"\n@@ -1 +1 @@\n-x\n+y\n"))
	add("a patch of a protected file", "apply_patch",
		patch("--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n"))
	for i := range list {
		list[i].want = []string{"conflict", "not_found", "path_outside_workspace", "unsupported", "permission_denied",
			"invalid_argument", "blocked"}
	}
	overMCP(t, b.serve(nil, "--toolset", "agentbench"), list)
}

func TestFaultsControls(t *testing.T) {
	t.Parallel()
	t.Run("a write that ends half-way", func(t *testing.T) {
		a := newArena(t, map[string]string{"a.txt": "old content\n"})
		a.whole["a.txt"] = []string{"old content\n", "new and longer content\n"}
		a.arm()
		a.write(a.ws, "a.txt", "new and lon", 0o644)
		control(t, "faults", "a torn file", checkWhole, a.inspect())
	})
	t.Run("a temporary file that stays", func(t *testing.T) {
		a := newArena(t, nil)
		a.arm()
		a.write(a.ws, ".toolhost-tmp-1-0000000000000001", "x", 0o600)
		control(t, "faults", "a temporary file", checkLeft, a.inspect())
	})
	t.Run("a writer that follows planted links", func(t *testing.T) {
		a := newArena(t, nil)
		a.link("../../../../outside/secret.txt", ".agent/runs/cli/events.jsonl")
		a.arm()
		a.shell("echo event >> .agent/runs/cli/events.jsonl")
		control(t, "faults", "a planted link followed", checkCanary, a.inspect())
	})
}
