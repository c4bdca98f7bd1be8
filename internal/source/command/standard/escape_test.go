package standard_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// escapes are calls whose arguments look harmless one by one: what is written depends on the trees that
// they name, or on how the program reads a name. The bare program does the harm that check finds.
var escapes = []struct {
	name, program, args string
	prepare             func(t *testing.T, root, out string)
	harmed              func(root, out string) bool
}{
	{"through a link in the target's tree", "cp", "-r src dst", func(t *testing.T, root, out string) {
		write(t, root, "src/x", "evil")
		mkdir(t, root, "dst/src")
		require.NoError(t, os.Symlink(filepath.Join(out, "canary"), filepath.Join(root, "dst/src/x")))
	}, changed},
	{"through a link, by a slash at the end", "cp", "-r src/ dst", func(t *testing.T, root, out string) {
		write(t, root, "src/x", "evil")
		mkdir(t, root, "dst/src")
		require.NoError(t, os.Symlink(filepath.Join(out, "canary"), filepath.Join(root, "dst/src/x")))
	}, changed},
	{"through a hard link", "cp", "file.txt hard", func(t *testing.T, root, out string) {
		require.NoError(t, os.Link(filepath.Join(out, "canary"), filepath.Join(root, "hard")))
	}, changed},
	{"through a hard link in a tree", "cp", "-r src dst", func(t *testing.T, root, out string) {
		write(t, root, "src/deep/x", "evil")
		mkdir(t, root, "dst/src/deep")
		require.NoError(t, os.Link(filepath.Join(out, "canary"), filepath.Join(root, "dst/src/deep/x")))
	}, changed},
	{"the times of a hard link", "touch", "-d 2001-01-01 hard", func(t *testing.T, root, out string) {
		require.NoError(t, os.Link(filepath.Join(out, "canary"), filepath.Join(root, "hard")))
	}, changed},
	{"a protected file by the name of its directory", "mv", "mine .agent", func(t *testing.T, root, _ string) {
		write(t, root, "mine/Taskfile.yml", "evil")
	}, tasks},
	{"a protected file in a copied directory", "cp", "-r mine .agent", func(t *testing.T, root, _ string) {
		write(t, root, "mine/Taskfile.yml", "evil")
	}, tasks},
	{"a protected file in a received directory", "cp", "-r file.txt mine/.agent .", func(t *testing.T, root, _ string) {
		write(t, root, "mine/.agent/Taskfile.yml", "evil")
	}, tasks},
	{"a protected file in a moved directory", "mv", "mine/.agent .", func(t *testing.T, root, _ string) {
		write(t, root, "mine/.agent/Taskfile.yml", "evil")
	}, tasks},
	{"a name that is a shell command", "cloc", `"a'; touch OUT/new; '.tar.gz"`, nothing, created},
	{"a name that is a shell command, of a zip", "cloc", `"./a'; touch OUT/new; '.ZIP"`, nothing, created},
}

func nothing(*testing.T, string, string) {}

func changed(_, out string) bool {
	path := filepath.Join(out, "canary")
	data, _ := os.ReadFile(path)
	info, err := os.Stat(path)
	return err != nil || string(data) != "canary" || info.ModTime().Year() < 2020
}

func created(_, out string) bool {
	_, err := os.Stat(filepath.Join(out, "new"))
	return err == nil
}

func tasks(root, _ string) bool {
	_, err := os.Stat(filepath.Join(root, ".agent/Taskfile.yml"))
	return err == nil
}

func mkdir(t *testing.T, root, name string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o755))
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	mkdir(t, root, filepath.Dir(name))
	require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
}

// place makes a workspace beside a directory with a canary.
func place(t *testing.T, prepare func(t *testing.T, root, out string)) (ws *workspace.Workspace, out string) {
	t.Helper()
	ws = open(t)
	out = filepath.Join(filepath.Dir(ws.Root()), "out")
	write(t, out, "canary", "canary")
	prepare(t, ws.Root(), out)
	return ws, out
}

func TestNoEscapeByWhatIsNamed(t *testing.T) {
	for _, tt := range escapes {
		t.Run(tt.name, func(t *testing.T) {
			testneed.Program(t, tt.program)
			ws, out := place(t, tt.prepare)
			_, err := call(t, ws, tt.program, strings.ReplaceAll(tt.args, "OUT", out))
			assert.False(t, tt.harmed(ws.Root(), out))
			require.Error(t, err)
			assert.NotEqual(t, tool.CommandFailed, tool.CodeOf(err), "the program ran")
			assert.NotEmpty(t, tool.AsError(err).Suggestion)
		})
	}
}

// TestTheProgramsDoEscape is the control: without the checks each call does its harm.
func TestTheProgramsDoEscape(t *testing.T) {
	testneed.NotShort(t, "needs the faults of today's programs")
	for _, tt := range escapes {
		if strings.HasSuffix(tt.args, `.ZIP"`) {
			continue // needs unzip
		}
		t.Run(tt.name, func(t *testing.T) {
			program := testneed.Program(t, tt.program)
			ws, out := place(t, tt.prepare)
			args := strings.Fields(tt.args)
			if text, quoted := strings.CutPrefix(tt.args, `"`); quoted {
				args = []string{strings.ReplaceAll(strings.TrimSuffix(text, `"`), "OUT", out)}
			}
			cmd := exec.Command(program, args...)
			cmd.Dir = ws.Root()
			output, _ := cmd.CombinedOutput()
			assert.True(t, tt.harmed(ws.Root(), out), "%s", output)
		})
	}
}

// TestTreesThatMayBeCopied checks that usual trees are allowed.
func TestTreesThatMayBeCopied(t *testing.T) {
	for _, args := range []string{"-r src copy", "-r src/ copy", "-r src file.txt into", "-r src/sub/. copy2",
		"-a src copy3", "-r ./src ./new"} {
		t.Run(args, func(t *testing.T) {
			ws, _ := place(t, func(t *testing.T, root, _ string) {
				write(t, root, "src/sub/.hidden", "x")
				mkdir(t, root, "into")
				require.NoError(t, os.Symlink("main.go", filepath.Join(root, "src/link")))
			})
			for range 2 { // the second time over existing files
				_, err := call(t, ws, "cp", args)
				if strings.Contains(args, "/.") && err != nil {
					assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
					return
				}
				require.NoError(t, err)
			}
		})
	}
}
