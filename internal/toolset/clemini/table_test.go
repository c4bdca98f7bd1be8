package clemini_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
)

// tableOf returns the commands of a class from the table of package danger, with the canary's path.
func tableOf(t testing.TB, class, canaries string) []string {
	t.Helper()
	data, err := os.ReadFile("../../../internal/policy/danger/testdata/commands.txt")
	require.NoError(t, err)
	var commands []string
	for line := range strings.Lines(string(data)) {
		given, command, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if given != class {
			continue
		}
		if unquoted, err := strconv.Unquote(command); err == nil && strings.HasPrefix(command, `"`) {
			command = unquoted
		}
		command = strings.ReplaceAll(command, "CANARYDIR", canaries)
		commands = append(commands, strings.ReplaceAll(command, "CANARY", filepath.Join(canaries, "file")))
	}
	require.NotEmpty(t, commands)
	return commands
}

// canaryTree creates a tree outside of the workspace that commands can see: not
// in /tmp, which is private to them.
func canaryTree(t testing.TB) string {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir, err := os.MkdirTemp(here, ".canary-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("canary"), 0o640))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "other"), []byte("other"), 0o600))
	return dir
}

// stateOf returns everything about a tree that a command could change.
func stateOf(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %s %d", path, info.Mode(), info.ModTime(), info.Size())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			b.WriteString(hex.EncodeToString(sum[:]))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func workFiles() []string {
	return []string{
		"file.txt", "a\nb\n", "script.sh", "echo script\n", "cleanup.sh", "#!/bin/sh\nrm -rf build\n", "build.sh",
		"#!/bin/sh\necho building\n",
		"farm.sh", "#!/bin/sh\necho farm\n", "env.sh", "export A=b\n", "a.json", "{}", "notes.txt", "", "src/a.go",
		"package a\n", "empty/x", "", "build/x", "",
	}
}

// standIns replaces programs that take long to fail here. They cannot reach
// what the table is about.
func (b *bench) standIns(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"npm", "pip", "apt", "apt-get", "aws", "kubectl", "terraform", "helm", "docker", "podman", "cargo", "gh",
		"brew", "psql", "mysql", "redis-cli", "su", "go", "node", "ssh", "wget", "npx", "uv", "bundle", "tmux",
		"systemd-run", "pytest",
	} {
		b.write("bin/"+name, "#!/bin/sh\nexit 0\n")
		require.NoError(t, os.Chmod(b.path("bin/"+name), 0o755))
	}
	t.Setenv("PATH", b.path("bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestDestructiveCommands calls bash with every destructive command of the
// table: each is questioned, blocked ones never run, and the others, forced
// through with a confirmation, change nothing outside of the workspace.
func TestDestructiveCommands(t *testing.T) {
	testneed.NotShort(t, "starts hundreds of commands")
	if report := sandbox.Detect(t.Context()); !report.Full.Works {
		testneed.Missing(t,
			"the table is run at sandbox level full alone, which does not work here: "+report.Full.Reason)
	}
	canaries := canaryTree(t)
	before := stateOf(t, canaries)
	b := newBenchOf(t, clemini.Deps{Confine: sandbox.Settings{Level: sandbox.Full}}, workFiles()...)
	b.standIns(t)
	blocked, caution := tableOf(t, "blocked", canaries), tableOf(t, "caution", canaries)
	assert.GreaterOrEqual(t, len(blocked)+len(caution), 120)
	for _, command := range blocked {
		for _, confirmed := range []bool{false, true, true} {
			b.fails("BLOCKED", "", "bash", args{"command": command, "confirmed": confirmed})
		}
	}
	for _, command := range caution {
		b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": command, "confirmed": true})
		require.Equal(t, before, stateOf(t, canaries), "ran unasked: %s", command)
		object, result := b.call("bash", args{"command": command, "confirmed": true, "timeout_seconds": 3})
		if result.Failed != nil {
			assert.Equal(t, "TIMEOUT", object["error_code"], "%s: %v", command, object)
		}
		require.Equal(t, before, stateOf(t, canaries), "broke out: %s", command)
		b.restore()
	}
}

// restore puts back what the commands remove from the workspace.
func (b *bench) restore() {
	files := workFiles()
	for i := 0; i < len(files); i += 2 {
		b.write(files[i], files[i+1])
	}
}

// TestDestructiveCommandsWithoutSandbox is the control: without the sandbox the
// same commands do destroy the canary.
func TestDestructiveCommandsWithoutSandbox(t *testing.T) {
	for _, form := range []string{"rm CANARY", "echo CANARY | xargs rm", "find CANARYDIR -type f -exec rm {} \\;",
		"> CANARY", "chmod 777 CANARY"} {
		canaries := canaryTree(t)
		before := stateOf(t, canaries)
		b := newBenchOf(t, clemini.Deps{Confine: sandbox.Settings{Level: sandbox.Off}})
		command := strings.ReplaceAll(strings.ReplaceAll(form, "CANARYDIR", canaries), "CANARY",
			filepath.Join(canaries, "file"))
		b.fails("NEEDS_CONFIRMATION", "", "bash", args{"command": command})
		require.Equal(t, before, stateOf(t, canaries), form)
		b.ok("bash", args{"command": command, "confirmed": true})
		assert.NotEqual(t, before, stateOf(t, canaries), form)
	}
}

// TestHarmlessCommands calls bash with every harmless command of the table:
// they run without a question, whether their program exists or not.
func TestHarmlessCommands(t *testing.T) {
	testneed.NotShort(t, "starts hundreds of commands")
	b := newBench(t, workFiles()...)
	b.standIns(t)
	for _, command := range tableOf(t, "fine", "/nowhere") {
		object, result := b.call("bash", args{"command": command, "timeout_seconds": 2})
		if result.Failed != nil {
			assert.Equal(t, "TIMEOUT", object["error_code"], "%s: %v", command, object)
		}
	}
}
