package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// toolDir makes a directory with only toolhost and toolhost-task, to be the whole PATH.
func toolDir(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.Symlink(filepath.Join(binaries, name), filepath.Join(dir, name)))
	}
	return dir
}

func withPath(cmd *exec.Cmd, path string) *exec.Cmd {
	for i, entry := range cmd.Env {
		if strings.HasPrefix(entry, "PATH=") {
			cmd.Env[i] = "PATH=" + path
		}
	}
	return cmd
}

func TestMissingProgramsAreNamedWithANextStep(t *testing.T) {
	path := toolDir(t, "toolhost", "toolhost-task")
	dir := t.TempDir()
	plant(t, dir, texts{"a.txt": "x\n"})
	for tool, program_ := range map[string]string{
		`rg {"pattern":"x"}`: "rg", `git_diff {}`: "git", `cloc {"args":"."}`: "cloc", `head {"args":"a.txt"}`: "head",
	} {
		name, params, _ := strings.Cut(tool, " ")
		cmd := withPath(program(t, dir, "call", name, "--params", params, "--json"), path)
		out, _ := cmd.Output()
		assert.Equal(t, 1, cmd.ProcessState.ExitCode(), name)
		assert.Contains(t, string(out), `"code":"command_not_found"`, name)
		assert.Contains(t, string(out), program_+" is not installed", name)
		assert.Contains(t, string(out), `"suggestion":"Install `+program_, name)
	}
	// What needs no program works.
	out, err := withPath(program(t, dir, "call", "read_file", "path=a.txt"), path).Output()
	require.NoError(t, err)
	assert.Equal(t, "x\n", string(out))

	out, err = withPath(program(t, dir, "doctor"), path).Output()
	require.NoError(t, err)
	for _, name := range []string{"rg", "git", "cloc"} {
		assert.Regexp(t, `(?m)^! `+name+` .*missing`, string(out))
	}
}

func TestWithoutToolhostTaskTheReasonIsTold(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	data, err := os.ReadFile(filepath.Join(binaries, "toolhost"))
	require.NoError(t, err)
	alone := filepath.Join(home, "toolhost")
	testfile.Program(t, alone, string(data))
	plant(t, dir, texts{".agent/Taskfile.yml": sampleTaskfile})
	for _, args := range [][]string{{"call", "list_commands"}, {"call", "run_command", "command=build"}} {
		cmd := program(t, dir, args...)
		cmd.Path = alone
		withPath(cmd, home)
		out, _ := cmd.CombinedOutput()
		assert.Equal(t, 1, cmd.ProcessState.ExitCode())
		assert.Contains(t, string(out), "toolhost-task")
		assert.Contains(t, string(out), "go install")
	}
}

func TestPluginsThatDoNotStartTakeNothingElseWithThem(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	dir := t.TempDir()
	plant(t, dir, texts{"a.txt": "x\n", "agent.hcl": `plugin "ends" {
  source = "` + mustLook(t, "false") + `"
}
plugin "gone" {
  source = "./no-such-plugin"
}
plugin "text" {
  source = "./a.txt"
}
`})
	stdout, stderr, code := runIn(t, dir, "list")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "read_file")
	for _, name := range []string{"ends", "gone", "text"} {
		assert.Contains(t, stdout+stderr, name)
	}
	stdout, _, code = runIn(t, dir, "call", "read_file", "path=a.txt")
	assert.Zero(t, code)
	assert.Equal(t, "x\n", stdout)
	stdout, _, _ = runIn(t, dir, "doctor")
	assert.Contains(t, stdout, "no-such-plugin")

	s := serve(t, dir)
	assert.Contains(t, s.offered(), "read_file")
	assert.Equal(t, "x\n", s.call("read_file", `{"path":"a.txt"}`).text())
}

func mustLook(t *testing.T, name string) string {
	t.Helper()
	testneed.Program(t, name)
	path, err := exec.LookPath(name)
	require.NoError(t, err)
	return path
}

func TestAReadOnlyFileStaysAsItIs(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"ro.txt": "kept\n"})
	require.NoError(t, os.Chmod(filepath.Join(dir, "ro.txt"), 0o444))
	for _, call := range [][]string{
		{"write_file", `{"path":"ro.txt","content":"x"}`},
		{"append_file", `{"path":"ro.txt","content":"x"}`},
		{"edit_file", `{"path":"ro.txt","old_str":"kept","new_str":"x"}`},
		{"multi_edit", `{"file_path":"ro.txt","edits":[{"old_string":"kept","new_string":"x"}]}`},
	} {
		_, stderr, code := runIn(t, dir, "call", call[0], "--params", call[1])
		assert.Equal(t, 1, code, call[0])
		assert.Contains(t, stderr, "read-only", call[0])
	}
	data, err := os.ReadFile(filepath.Join(dir, "ro.txt"))
	require.NoError(t, err)
	assert.Equal(t, "kept\n", string(data))
}

func TestABrokenAgentHCLIsReportedWholeBeforeAnythingRuns(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": `tool "a" {
  descripton = "x"
  risk       = "readonly"
}

plugn "x" {
}

tool "b" {
  description = "B. Returns: b."
  risk        = "read_only"
  passthrough {
    command = "cat"
    operands {
      type = "reed"
    }
  }
}
`})
	for _, args := range [][]string{{"list"}, {"validate"}, {"serve", "--http", "127.0.0.1:0"}, {"call", "todoread"},
		{"schema"}} {
		stdout, stderr, code := runIn(t, dir, args...)
		assert.Equal(t, 2, code, args)
		assert.Empty(t, stdout, args)
		for _, part := range []string{
			"agent.hcl:2:", "descripton", `"description"`, "agent.hcl:3:", `"read_only"`, "agent.hcl:6:", `"plugin"`,
			"agent.hcl:15:", `"read"`,
		} {
			assert.Contains(t, stderr, part, args)
		}
	}
}

func TestAgentHCLThatWouldTakeForeverIsRefusedBeforeParsing(t *testing.T) {
	for name, content := range map[string]string{
		"nested brackets": "locals {\n  x = " + strings.Repeat("[", 60_000) + "\n}\n",
		"huge":            strings.Repeat("# comment\n", 1<<20),
		"not text":        "\xff\xfe\x00",
	} {
		dir := t.TempDir()
		plant(t, dir, texts{"agent.hcl": content})
		_, stderr, code := runIn(t, dir, "list")
		assert.Equal(t, 2, code, name)
		assert.Contains(t, stderr, "agent.hcl", name)
		assert.Less(t, len(stderr), 2000, name)
	}
}
