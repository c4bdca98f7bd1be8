package standard_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/source/command"
	"github.com/toolhost/toolhost/internal/source/command/standard"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestExamplesAndRejects(t *testing.T) {
	ws := open(t)
	for _, spec := range standard.Specs() {
		assert.NotEmpty(t, spec.Examples, spec.Name)
		assert.NotEmpty(t, spec.Rejects, spec.Name)
		assert.Empty(t, spec.CheckExamples(command.Paths(t.Context(), ws)), spec.Name)
	}
}

// open makes a workspace beside a directory with secrets.
func open(t *testing.T) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	for name, text := range map[string]string{
		"root/file.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "root/source.txt": "source\n",
		"root/old.txt":            "old\n",
		"root/file_to_delete.txt": "x", "root/src/main.go": "package main\n\nfunc main() {}\n",
		"root/.git/config": "[core]\n", "root/agent.hcl": "",
		"root/with space.txt": "spaced\n", "secret.txt": "s3cret\n",
	} {
		path := filepath.Join(dir, name)
		testfile.Write(t, path, text)
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "secret.txt"), filepath.Join(root, "leak")))
	require.NoError(t, os.Symlink(dir, filepath.Join(root, "leakdir")))
	require.NoError(t, os.Symlink("file.txt", filepath.Join(root, "inside")))
	ws, err := workspace.Open(root, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

func call(t *testing.T, ws *workspace.Workspace, name, args string) (*tool.Result, error) {
	t.Helper()
	for _, spec := range standard.Specs() {
		if spec.Name == name {
			tl, err := command.New(spec, command.Deps{Workspace: ws})
			require.NoError(t, err)
			params, err := json.Marshal(map[string]string{"args": args})
			require.NoError(t, err)
			return tl.Call(context.Background(), &tool.Call{Tool: name, Params: params})
		}
	}
	t.Fatalf("no tool %s", name)
	return nil, nil
}

// TestContractExamples makes every example call of contract 004.
func TestContractExamples(t *testing.T) {
	tests := []struct {
		name, args string
		check      func(t *testing.T, root, out string)
	}{
		{"head", "-n 20 file.txt", func(t *testing.T, _, out string) { assert.Equal(t, 12, strings.Count(out, "\n")) }},
		{"tail", "-n 20 file.txt", func(t *testing.T, _, out string) { assert.Equal(t, 12, strings.Count(out, "\n")) }},
		{"cloc", ".", func(t *testing.T, _, out string) { assert.Contains(t, out, "Go") }},
		{"wc", "-l file.txt", func(t *testing.T, _, out string) { assert.Equal(t, "12 file.txt\n", out) }},
		{"cp", "source.txt destination.txt",
			func(t *testing.T, root, _ string) { assert.Equal(t, "source\n", read(t, root, "destination.txt")) }},
		{"mv", "old.txt new.txt", func(t *testing.T, root, _ string) {
			assert.Equal(t, "old\n", read(t, root, "new.txt"))
			assert.NoFileExists(t, filepath.Join(root, "old.txt"))
		}},
		{"rm", "file_to_delete.txt", func(t *testing.T, root, _ string) {
			assert.NoFileExists(t, filepath.Join(root, "file_to_delete.txt"))
		}},
		{"touch", "new_empty_file.txt",
			func(t *testing.T, root, _ string) { assert.Empty(t, read(t, root, "new_empty_file.txt")) }},
		{"mkdir", "new_dir",
			func(t *testing.T, root, _ string) { assert.DirExists(t, filepath.Join(root, "new_dir")) }},
		{"head", "file.txt", func(t *testing.T, _, out string) {
			assert.Equal(t, 10, strings.Count(out, "\n"), "10 lines is the default")
		}},
		{"tail", "file.txt", func(t *testing.T, _, out string) { assert.Equal(t, 10, strings.Count(out, "\n")) }},
		{"head", `-n 1 'with space.txt'`, func(t *testing.T, _, out string) { assert.Equal(t, "spaced\n", out) }},
		{"head", "-1 inside", func(t *testing.T, _, out string) { assert.Equal(t, "1\n", out) }},
		{"wc", "-c *.txt", func(t *testing.T, _, out string) { assert.Contains(t, out, "total") }},
		{"rm", "leak", func(t *testing.T, root, _ string) {
			assert.FileExists(t, filepath.Join(filepath.Dir(root), "secret.txt"), "the link goes, its target stays")
		}},
		{"rm", "-rf leakdir/", func(t *testing.T, root, _ string) {
			assert.NoFileExists(t, filepath.Join(root, "leakdir"))
			assert.FileExists(t, filepath.Join(filepath.Dir(root), "secret.txt"),
				"a slash behind the link changes nothing")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.args, func(t *testing.T) {
			testneed.Program(t, tt.name)
			ws := open(t)
			result, err := call(t, ws, tt.name, tt.args)
			require.NoError(t, err)
			tt.check(t, ws.Root(), result.Text())
		})
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	return testfile.Read(t, filepath.Join(root, name))
}

// TestNothingLeavesTheWorkspace tries every way for these programs to read or write elsewhere, and
// checks that nothing outside changed or leaked.
func TestNothingLeavesTheWorkspace(t *testing.T) {
	attacks := map[string][]string{
		"head": {"../secret.txt", "leak", "leakdir/secret.txt", "DIR/secret.txt", "/proc/self/environ",
			"-c 1 /proc/self/environ", "-- ../secret.txt",
			"-n1 ../secret.txt", "'../secret.txt'", `..\/secret.txt`, "leak*", "l*/secret.txt", "src/../../secret.txt",
			"./../secret.txt"},
		"tail": {"../secret.txt", "leak", "-f file.txt", "-qf file.txt", "--follow file.txt", "--follow=name file.txt",
			"--fo file.txt", "-F file.txt",
			"--pid=1 file.txt", "--retry file.txt", "-n 5 DIR/secret.txt"},
		"wc": {"--files0-from=../secret.txt", "--files0-from ../secret.txt", "--files0-f=leak", "--files0-from=-",
			"leak", "-l ../secret.txt"},
		"cp": {"../secret.txt stolen", "leak stolen", "file.txt ../new", "-t .. file.txt", "-t.. file.txt",
			"--target-directory=.. file.txt",
			"--target=.. file.txt", "-rt .. src", "-s DIR/secret.txt link", "-l ../secret.txt link", "-rL leakdir copy",
			"-H -r leakdir copy",
			"file.txt leakdir/new", "file.txt leakdir", "file.txt .git/config", "src/main.go .git",
			"--parents ../secret.txt .", "-a ../secret.txt .",
			"-b file.txt source.txt", "--suffix=/../../x -b file.txt source.txt", "file.txt agent.hcl",
			"file.txt AGENT.HCL", "-r leakdir/. copy"},
		"mv": {"../secret.txt stolen", "file.txt ..", "file.txt ../new", "-t .. file.txt", "--target-d=.. file.txt",
			"file.txt leakdir/", ".git old", "file.txt .git/config",
			"agent.hcl x", "leakdir/secret.txt stolen"},
		"rm": {"../secret.txt", "-rf ..", "-rf /", "-rf .", "-rf ./", "leakdir/secret.txt", "-rf .git", "-rf .git/",
			"agent.hcl",
			"--no-preserve-root -rf /", "-rf src/../..", "-rf DIR"},
		"touch": {"../new", "leakdir/new", "-r ../secret.txt file.txt", "--reference=../secret.txt file.txt",
			"--ref=leak file.txt", "-r leak file.txt", "DIR/new", ".git/x"},
		"mkdir": {"../new", "leakdir/new", "-p ../a/b", "DIR/new", ".git/new"},
		"cloc": {"..", "leakdir", "--list-file=../secret.txt", "--config=../secret.txt .", "--out=../new .",
			"--report-file ../new .", "--extract-with='touch ../new' .", "--read-lang-def=leak .", "--stdin-name=x -",
			"--script-lang=Go,x .", "--sql=../new .", "--diff .. .", "DIR"},
	}
	for name, lines := range attacks {
		for _, args := range lines {
			t.Run(name+" "+args, func(t *testing.T) {
				ws := open(t)
				outside := filepath.Dir(ws.Root())
				before := snapshot(t, outside)
				result, err := call(t, ws, name, strings.ReplaceAll(args, "DIR", outside))
				assert.Equal(t, before, snapshot(t, outside))
				if err == nil {
					assert.NotContains(t, result.Text(), "s3cret")
					t.Errorf("it was not refused: %s", result.Text())
					return
				}
				assert.NotContains(t, err.Error(), "s3cret")
				e := tool.AsError(err)
				if !strings.Contains(e.Message, "No such file") { // a glob without matches is a name
					assert.NotEqual(t, tool.CommandFailed, e.Code, "the program ran: %s", e.Message)
				}
				assert.NotEmpty(t, e.Suggestion)
			})
		}
	}
}

// snapshot returns the files of a directory and of the protected places in its workspace.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*", "root/.git/*", "root/agent.hcl"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, file := range files {
			data, _ := os.ReadFile(file)
			all[file] = string(data)
		}
	}
	return all
}
