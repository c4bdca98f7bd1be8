package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// onTerminal runs the program on its own terminal, answers its question and returns what a user would
// see.
func onTerminal(t *testing.T, dir, answer string, env []string, args ...string) (screen string, code int) {
	t.Helper()
	return onTerminalAt(t, dir, "Approve?", answer, env, args...)
}

// onTerminalAt answers at the prompt.
func onTerminalAt(t *testing.T, dir, prompt, answer string, env []string, args ...string) (screen string, code int) {
	t.Helper()
	return onTerminalWhen(t, dir, prompt, func(stdin io.Writer) {
		_, err := io.WriteString(stdin, answer)
		require.NoError(t, err)
	}, env, args...)
}

// onTerminalWhen calls do when a text is on the screen.
func onTerminalWhen(
	t *testing.T, dir, prompt string, do func(stdin io.Writer), env []string, args ...string,
) (screen string, code int) {
	t.Helper()
	testneed.Program(t, "script")
	words := []string{"exec", quoted(filepath.Join(binaries, "toolhost"))}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	cmd := exec.Command("script", "-qefc", strings.Join(words, " "), os.DevNull)
	cmd.Dir = dir
	cmd.Env = append(environment(t.TempDir()), append([]string{"TERM=xterm", "SHELL=/bin/sh"}, env...)...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	var seen strings.Builder
	buffer := make([]byte, 4096)
	for asked := false; ; {
		n, err := stdout.Read(buffer)
		seen.Write(buffer[:n])
		if !asked && strings.Contains(seen.String(), prompt) {
			asked = true
			do(stdin)
		}
		if err != nil {
			break
		}
	}
	stdin.Close()
	_ = cmd.Wait()
	require.True(t, late.Stop(), "the program does not end, and shows: %s", seen.String())
	return strings.ReplaceAll(seen.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

func quoted(arg string) string { return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'" }

const askFirst = "policy {\n  dangerous = \"ask\"\n}\n"

func TestAskingOnATerminal(t *testing.T) {
	for answer, want := range map[string]struct {
		code    int
		content string
	}{
		"y\n":           {0, "new"},
		"yes\n":         {0, "new"},
		"n\n\n":         {3, "old"},
		"No\nlater\n":   {3, "old"},
		"\n":            {3, "old"},
		"what\nye\ny\n": {0, "new"}, // asked again after a typo
		"what\nn\n\n":   {3, "old"},
		"yy\n\x04":      {3, "old"},
		"\x04":          {3, "old"},   // end of input
		"\x03":          {130, "old"}, // interrupt
	} {
		dir := t.TempDir()
		plant(t, dir, texts{"agent.hcl": askFirst, "a.txt": "old"})
		screen, code := onTerminal(t, dir, answer, nil, "call", "edit_file", "path=a.txt", "old_str=old", "new_str=new")
		assert.Equal(t, want.code, code, "%q: %s", answer, screen)
		assert.NotContains(t, screen, "context canceled")
		for _, part := range []string{"Tool: edit_file", "path: a.txt", "-old", "+new", "Approve? (y/n/always)"} {
			assert.Contains(t, screen, part)
		}
		data, err := os.ReadFile(filepath.Join(dir, "a.txt"))
		require.NoError(t, err)
		assert.Equal(t, want.content, string(data), "%q", answer)
	}
}

// The form in which contract cliagent shows a call before approval.
func TestApprovalIsShownAsTheContractSays(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "policy {\n  safe_write = \"ask\"\n}\n"})
	screen, code := onTerminal(t, dir, "y\n", nil, "call", "--toolset", "cliagent", "create_file",
		"content=print('hello world')", "path=hello.py")
	assert.Zero(t, code, screen)
	screen = strings.ReplaceAll(screen, "\r\n", "\n")
	assert.Contains(t, screen,
		"Tool: create_file\nParameters:\n  path: hello.py\n  content: <20 bytes>\nFiles affected: hello.py\nRisk level: safe_write\n")
	assert.Contains(t, screen, "Approve? (y/n/always): ")
	assert.Contains(t, screen, "+print('hello world')", "the plan's diff")
	assert.Contains(t, screen, " Created file: hello.py (20 bytes)\n  Location: ")
}

func TestAlwaysAllowsExactlyThisCallFromThenOn(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": askFirst})
	home := environment(t.TempDir())
	args := []string{"call", "write_file", "path=a.txt", "content=a.b"}
	_, code := onTerminal(t, dir, "always\n", home, args...)
	assert.Zero(t, code)
	again := program(t, dir, args...)
	again.Env = home
	assert.NoError(t, again.Run(), "the same call is not asked for again")
	other := program(t, dir, "call", "write_file", "path=a.txt", "content=aXb")
	other.Env = home
	_ = other.Run()
	assert.Equal(t, 3, other.ProcessState.ExitCode(), "another call is")
}

// A long call shows the time and its progress, in a line that is removed at the end; its output is
// complete and printed once.
func TestStatusOfALongCall(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": `tool "slow" {
  description = "Slow. Returns: text."
  command {
    argv   = ["sh", "-c", "echo first; echo '::progress 2/5 half way' >&2; while [ ! -e go ]; do sleep 0.05; done; echo last"]
    report  = "::"
    timeout = "1m"
  }
}`})
	screen, code := onTerminalWhen(t, dir, "s [2/5] half way", func(io.Writer) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	}, nil, "call", "slow")
	assert.Equal(t, 0, code, screen)
	parts := strings.Split(screen, clearLine)
	assert.Equal(t, "first\nlast\n", strings.Split(parts[len(parts)-1], "\x1b")[0])
	assert.NotContains(t, strings.Join(parts[:len(parts)-1], ""), "\n", "the status is one line")
}

func TestNobodyToAskIsDenied(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": askFirst})
	_, stderr, code := runIn(t, dir, "call", "write_file", "path=a", "content=x")
	assert.Equal(t, 3, code)
	assert.Contains(t, stderr, "Only the user can approve it")
	_, _, code = runIn(t, dir, "call", "write_file", "path=a", "content=x", "--yes")
	assert.Zero(t, code)
}

// What is approved is what is shown: an agent cannot control the screen.
func TestApprovalShowsControlCharactersWrittenOut(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": askFirst})
	screen, code := onTerminal(t, dir, "n\n\n", []string{"NO_COLOR=1", "TERM=dumb"}, "call", "write_file",
		"path=x\x1b[31m.txt", "content=evil\x1b[2J\x1b[1;1HTool: read_file\rsafe\u202e")
	assert.Equal(t, 3, code)
	for _, hidden := range []string{"\x1b", "\u202e", "\r"} {
		assert.NotContains(t, screen, hidden)
	}
	assert.Contains(t, screen, `evil\x1b[2J`)
}

func TestColoursOnATerminalOnly(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, texts{"a.txt": "x\n"})
	call := []string{"call", "read_file", "path=none"}
	colour := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	tests := map[string]struct {
		env    []string
		before []string
		want   bool
	}{
		"terminal":      {want: true},
		"NO_COLOR":      {env: []string{"NO_COLOR=1"}},
		"dumb terminal": {env: []string{"TERM=dumb"}},
		"never":         {before: []string{"--color", "never"}},
	}
	for name, tt := range tests {
		screen, code := onTerminal(t, dir, "", tt.env, append(tt.before, call...)...)
		assert.Equal(t, 1, code, name)
		assert.Equal(t, tt.want, colour.MatchString(screen), "%s: %q", name, screen)
	}
	_, stderr, _ := runIn(t, dir, call...)
	assert.NotContains(t, stderr, "\x1b[")
	_, stderr, _ = runIn(t, dir, append([]string{"--color", "always"}, call...)...)
	assert.Contains(t, stderr, "\x1b[")
	_, stderr, code := runIn(t, dir, append([]string{"--color", "blue"}, call...)...)
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "auto, always or never")

	screen, _ := onTerminal(t, dir, "", nil, "call", "read_file", "path=a.txt")
	assert.Regexp(t, `^x\n`, screen, "the output first, and alone on stdout")
	assert.Contains(t, screen, "✓")
}

const asksFirst = `tool "greet" {
  description = "Greets."
  risk        = "read_only"
  ask "who" {
    message = "Who is there?"
    field "name" { title = "Your name" }
    field "times" {
      type    = integer
      default = 2
    }
  }
  command { argv = ["printf", "Hello %s x%s", ask.who.name, "${ask.who.times}"] }
}
`

func TestAskingAFormOnATerminal(t *testing.T) {
	for typed, want := range map[string]struct {
		code int
		told string
	}{
		"Jo\n\n":        {0, "Hello Jo x2"},
		"Jo\nmany\n3\n": {0, "times: "}, // error shown, and asked again
		"\n\n\n":        {3, "did not answer"},
		"\x03":          {130, "interrupted"},
	} {
		dir := t.TempDir()
		plant(t, dir, texts{"agent.hcl": asksFirst})
		screen, code := onTerminalAt(t, dir, "Your name:", typed, nil, "--trust", "call", "greet")
		assert.Equal(t, want.code, code, "%q: %s", typed, screen)
		assert.Contains(t, screen, "Who is there?")
		assert.Contains(t, screen, want.told, "%q", typed)
	}
}
