package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// accessList lets user 2000 write and the group only read; the file's mode shows 0660.
func accessList() []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	const anyone = 1<<32 - 1
	for _, e := range [][3]uint32{{1, 6, anyone}, {2, 6, 2000}, {4, 4, anyone}, {16, 6, anyone}, {32, 0, anyone}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

func listOf(t *testing.T, path string) []byte {
	t.Helper()
	list := make([]byte, 512)
	n, err := unix.Getxattr(path, "system.posix_acl_access", list)
	if errors.Is(err, unix.ENODATA) {
		return nil
	}
	require.NoError(t, err)
	return list[:n]
}

// edits are calls that change f.txt from "alpha\nbeta\n".
var edits = map[string][]string{
	"edit_file":  {"edit_file", `{"path":"f.txt","old_str":"beta","new_str":"BETA"}`},
	"multi_edit": {"multi_edit", `{"file_path":"f.txt","edits":[{"old_string":"beta","new_string":"BETA"}]}`},
	"write":      {"write_file", `{"path":"f.txt","content":"other\n"}`},
	"append":     {"append_file", `{"path":"f.txt","content":"gamma\n"}`},
	"apply_patch": {"apply_patch", `{"unified_diff":"--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+BETA\n"}`,
		"--toolset", "agentbench"},
	"replace_string": {"replace_string_in_file",
		`{"path":"f.txt","old_string":"beta","new_string":"BETA"}`, "--toolset", "cliagent"},
}

// TestEditsKeepTheAccessList edits a file by each tool, with undo and redo.
func TestEditsKeepTheAccessList(t *testing.T) {
	testneed.NotShort(t, "makes many calls")
	for name, call := range edits {
		t.Run(name, func(t *testing.T) { requireRights(t, "", call) })
	}
}

// TestReviewKeepsTheAccessList applies a command's changes from a view to the workspace.
func TestReviewKeepsTheAccessList(t *testing.T) {
	testneed.NotShort(t, "needs a level of the sandbox")
	requireRights(t, "tool \"upper\" {\n  description = \"Changes f.txt. Returns: nothing.\"\n"+
		"  command { argv = [\"sed\", \"-i\", \"s/beta/BETA/\", \"f.txt\"] }\n}\n"+
		"policy {\n  rule \"looked at\" {\n    tool   = \"upper\"\n    action = \"review\"\n  }\n}\n",
		[]string{"upper", "{}", "--yes"})
}

func requireRights(t *testing.T, config string, call []string) {
	t.Helper()
	dir := t.TempDir()
	plant(t, dir, texts{"f.txt": "alpha\nbeta\n", "control.txt": "", "agent.hcl": config})
	path := filepath.Join(dir, "f.txt")
	require.NoError(t, os.Chmod(path, 0o660))
	if err := unix.Setxattr(path, "system.posix_acl_access", accessList(), 0); errors.Is(err, unix.ENOTSUP) {
		testneed.Missing(t, "the file system has no access control lists")
	} else {
		require.NoError(t, err)
	}
	require.NoError(t, unix.Setxattr(path, "user.note", []byte("a note"), 0))
	home := t.TempDir()
	texts := []string{content(t, path)}
	call = append([]string{"call", call[0], "--params", call[1]}, call[2:]...)
	for _, args := range [][]string{call, {"undo"}, {"redo"}} {
		cmd := program(t, dir, args...)
		cmd.Env = environment(home)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		texts = append(texts, content(t, path))
		assert.Equal(t, accessList(), listOf(t, path), args[0])
		note := make([]byte, 16)
		n, err := unix.Getxattr(path, "user.note", note)
		require.NoError(t, err, args[0])
		assert.Equal(t, "a note", string(note[:n]), args[0])
	}
	assert.NotEqual(t, texts[0], texts[1], "control: it was changed")
	assert.Equal(t, texts[0], texts[2], "undone")
	assert.Equal(t, texts[1], texts[3], "redone")
	assert.Nil(t, listOf(t, filepath.Join(dir, "control.txt")), "control: other files have no list")
}

// TestMountedFileIsWrittenInPlace edits, and installs into, a file that is itself a mount.
func TestMountedFileIsWrittenInPlace(t *testing.T) {
	testneed.NotShort(t, "needs mounts")
	unshare := testneed.Program(t, "unshare")
	if out, err := exec.Command(unshare, "-Urm", "true").CombinedOutput(); err != nil {
		testneed.Missing(t, "user namespaces are refused here: "+string(out))
	}
	dir := t.TempDir()
	plant(t, dir, texts{"host.yml": "a: 1\n", "w/app.yml": "", "config.json": "{}\n", "home/.claude.json": ""})
	const script = `set -e
mount --bind host.yml w/app.yml
mount --bind config.json home/.claude.json
cd w
t=$1
$t call edit_file path=app.yml "old_str=a: 1" "new_str=a: 2" >&2; cat app.yml
$t undo >&2; cat app.yml
$t redo >&2; cat app.yml
$t call --toolset cliagent run_in_terminal 'command=echo "a: 3" > app.yml' >&2; cat app.yml
$t undo >&2; cat app.yml
$t install claude-code >&2; grep -c toolhost ../home/.claude.json; cat ../home/.claude.json.before-toolhost
$t call delete_file path=app.yml >&2 || echo refused
rm ../home/.claude.json.before-toolhost
mount -o remount,bind,ro ../home/.claude.json
$t install claude-code --name two >&2 || echo refused; ls -d ../home/.claude.json*`
	cmd := exec.Command(unshare, "-Urm", "sh", "-c", script, "sh", filepath.Join(binaries, "toolhost"))
	cmd.Dir = dir
	cmd.Env = environment(filepath.Join(dir, "home"))
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", out, says.String())
	assert.Regexp(t, `(?s)^a: 2\na: 1\na: 2\na: 3\na: 2\n\d+\n\{\}\nrefused\nrefused\n\.\./home/\.claude\.json\n$`,
		string(out), "%s", says.String())
	assert.Contains(t, says.String(), "cannot remove app.yml: it is a mount")
	assert.Contains(t, says.String(), "no new file can take its place (it is a mount), and it cannot be written "+
		"in place: read-only file system")
	assert.Equal(t, "a: 2\n", content(t, filepath.Join(dir, "host.yml")), "control: it was the mounted file")
	left, err := filepath.Glob(filepath.Join(dir, "w", ".toolhost-tmp-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestNewFilesHeedTheUmask makes files and directories by each tool that can.
func TestNewFilesHeedTheUmask(t *testing.T) {
	testneed.NotShort(t, "makes many calls")
	for name, call := range map[string][]string{
		"write_file":  {"write_file", `{"path":"d/new","content":"x"}`},
		"append_file": {"append_file", `{"path":"d/new","content":"x"}`},
		"edit_file":   {"edit_file", `{"path":"d/new","old_str":"","new_str":"x"}`},
		"apply_patch": {"apply_patch", `{"unified_diff":"--- /dev/null\n+++ b/d/new\n@@ -0,0 +1 @@\n+x\n"}`,
			"--toolset", "agentbench"},
		"git patch": {"apply_patch", `{"unified_diff":"diff --git a/d/new b/d/new\nnew file mode 100644\n` +
			`--- /dev/null\n+++ b/d/new\n@@ -0,0 +1 @@\n+x\n"}`, "--toolset", "agentbench"},
		"create_file": {"create_file", `{"path":"d/new","content":"x"}`, "--toolset", "cliagent"},
		"control":     {},
	} {
		t.Run(name, func(t *testing.T) {
			for umask, want := range map[string][2]os.FileMode{"002": {0o775, 0o664}, "077": {0o700, 0o600}} {
				dir := t.TempDir()
				script := "umask " + umask + "; mkdir d; echo x > d/new"
				if len(call) > 0 {
					script = "umask " + umask + `; exec "$@"`
				}
				args := append([]string{"-c", script, "sh", filepath.Join(binaries, "toolhost"), "call"}, call...)
				if len(call) > 0 {
					args = append(args[:5:5], append([]string{call[0], "--params", call[1]}, call[2:]...)...)
				}
				cmd := exec.Command("sh", args...)
				cmd.Dir, cmd.Env = dir, environment(t.TempDir())
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				for i, made := range []string{"d", "d/new"} {
					info, err := os.Stat(filepath.Join(dir, made))
					require.NoError(t, err)
					assert.Equal(t, want[i], info.Mode().Perm(), "%s with umask %s", made, umask)
				}
			}
		})
	}
}

// TestAnUndoneRemovalLendsTheGroupNothing restores a removed file with an access control list: the list
// is not kept, and its mask does not become the group's rights.
func TestAnUndoneRemovalLendsTheGroupNothing(t *testing.T) {
	config := "tool \"swap\" {\n  description = \"Removes, or makes again. Returns: nothing.\"\n  param \"script\" { type = string }\n" +
		"  command { argv = [\"sh\", \"-c\", param.script] }\n}\n"
	for name, call := range map[string][]string{
		"a tool":                 {"delete_file", `{"path":"f.txt"}`},
		"a command":              {"swap", `{"script":"rm f.txt"}`},
		"a command, replaced":    {"swap", `{"script":"rm f.txt; echo new > f.txt"}`},
		"a command, a directory": {"swap", `{"script":"rm -r d"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "a tool" {
				testneed.NotShort(t, "needs a level of the sandbox")
			}
			dir := t.TempDir()
			plant(t, dir, texts{"f.txt": "alpha\n", "d/g.txt": "x", "plain.txt": "p", "agent.hcl": config})
			paths := []string{filepath.Join(dir, "f.txt"), filepath.Join(dir, "d")}
			t.Cleanup(func() { _ = os.Chmod(paths[1], 0o700) }) // its owner may not enter it by the list
			for _, path := range paths {
				require.NoError(t, os.Chmod(path, 0o770))
				if err := unix.Setxattr(path, "system.posix_acl_access", accessList(), 0); errors.Is(err, unix.ENOTSUP) {
					testneed.Missing(t, "the file system has no access control lists")
				} else {
					require.NoError(t, err)
				}
			}
			home := t.TempDir()
			run := func(args ...string) string {
				cmd := program(t, dir, args...)
				cmd.Env = append(environment(home), "TOOLHOST_TRUST=1")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				return string(out)
			}
			run(append([]string{"call", call[0], "--yes", "--params", call[1]}, call[2:]...)...)
			said := run("undo")
			assert.Contains(t, said, "Without the access control list that was there")
			path := paths[0]
			if name == "a command, a directory" {
				path = paths[1]
			}
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Nil(t, listOf(t, path), "control: the list is not kept")
			assert.Equal(t, os.FileMode(0o040), info.Mode().Perm()&0o077, "the group may read, as by the list, and nobody else")
			run("redo")
			run("undo")
			info, err = os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o040), info.Mode().Perm()&0o077)
		})
	}
}
