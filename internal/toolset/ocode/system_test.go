package ocode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/ocode"
)

func posix(t *testing.T) {
	t.Helper()
}

func TestBash(t *testing.T) {
	posix(t)
	t.Run("command", func(t *testing.T) {
		g := newBench(t).ok("bash", args{"command": "echo out; echo err >&2"})
		assert.Equal(t, "out\nstderr:\nerr\n", g.Output)
		assert.EqualValues(t, 0, g.Metadata["exit_code"])
		assert.Equal(t, "out\n", g.Metadata["stdout"])
		assert.Equal(t, "err\n", g.Metadata["stderr"])
		assert.Positive(t, g.Metadata["duration"])
	})
	t.Run("command that fails", func(t *testing.T) {
		g := newBench(t).fails("Command failed with exit code 3\nerr\nout", "bash",
			args{"command": "echo out; echo err >&2; exit 3"})
		assert.EqualValues(t, 3, g.Metadata["exit_code"])
		assert.Equal(t, "out\n", g.Metadata["stdout"])
		assert.Equal(t, "err\n", g.Metadata["stderr"])
	})
	t.Run("command that is not there", func(t *testing.T) {
		g := newBench(t).failsWith("Command failed with exit code 127", "bash", args{"command": "no-such-command-here"})
		assert.Contains(t, g.Error, "no-such-command-here")
	})
	t.Run("command empty", func(t *testing.T) {
		newBench(t).fails("Command is required", "bash", args{"command": "  "})
	})
	t.Run("command is bash's where there is one", func(t *testing.T) {
		testneed.Program(t, "bash")
		assert.Equal(t, "b\n", newBench(t).ok("bash", args{"command": "a=(a b); echo ${a[1]}"}).Output)
	})
	t.Run("standard input is empty", func(t *testing.T) {
		assert.Equal(t, "0\n", strings.TrimLeft(newBench(t).ok("bash", args{"command": "wc -c"}).Output, " "))
	})
	t.Run("working_dir", func(t *testing.T) {
		b := newBench(t)
		require.NoError(t, os.Mkdir(b.path("sub"), 0o755))
		assert.Equal(t, b.path("sub")+"\n", b.ok("bash", args{"command": "pwd", "working_dir": "sub"}).Output)
		b.fails("File not found: none", "bash", args{"command": "pwd", "working_dir": "none"})
		b.fails("Path not allowed: .. is outside the workspace", "bash", args{"command": "pwd", "working_dir": ".."})
		b.write("file", "")
		b.fails("Not a directory: file", "bash", args{"command": "pwd", "working_dir": "file"})
	})
	t.Run("working_dir default is the workspace", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("bash", args{"command": "pwd"})
		assert.Equal(t, b.root+"\n", g.Output)
		assert.Equal(t, b.root, g.Metadata["working_dir"])
	})
	t.Run("timeout", func(t *testing.T) {
		b := newBench(t)
		var g given
		var want string
		testproc.LongEnough(time.Second, func(limit time.Duration) bool {
			started, seconds := time.Now(), limit.Seconds()
			g = b.call("bash", args{"command": "echo before; " + string(testproc.Sleep(t)), "timeout": seconds})
			assert.Less(t, time.Since(started), limit+50*time.Second)
			want = fmt.Sprintf("Command timed out after %g seconds\nbefore", seconds)
			return g.Error == want
		})
		require.False(t, g.Success)
		b.failed(want, g)
		assert.EqualValues(t, 124, g.Metadata["exit_code"])
		for _, n := range []int{0, -1, 3601} {
			b.failsWith("Invalid timeout", "bash", args{"command": "true", "timeout": n})
		}
	})
	t.Run("env", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("bash", args{"command": `echo "$A/$N/$T/$M"`,
			"env": args{"A": "a b", "N": json.Number("1764279999123456789"), "M": 1000000, "T": true}})
		assert.Equal(t, "a b/1764279999123456789/true/1000000\n", g.Output)
		b.fails(`Invalid variable name: "a=b"`, "bash", args{"command": "true", "env": args{"a=b": "c"}})
		b.fails("Invalid value of variable A", "bash", args{"command": "true", "env": args{"A": []string{"x"}}})
	})
	t.Run("v1 env_vars", func(t *testing.T) {
		g := newBench(t).ok("bash", args{"command": "echo $A", "env_vars": args{"A": "x"}})
		assert.Equal(t, "x\n", g.Output)
		assert.NotEmpty(t, g.Metadata["deprecated_parameters"])
	})
	t.Run("the host's environment stays its own", func(t *testing.T) {
		t.Setenv("SOME_SECRET_OF_THE_HOST", "hush")
		assert.NotContains(t, newBench(t).ok("bash", args{"command": "env"}).Output, "hush")
	})
	t.Run("sandbox", func(t *testing.T) {
		confined := 0
		b := newBenchWith(t, ocode.Deps{Prepare: func(*exec.Cmd) (map[string]any, error) {
			confined++
			return map[string]any{"sandbox": "test"}, nil
		}})
		b.ok("bash", args{"command": "true"})
		assert.Equal(t, 1, confined)
		refused := newBenchWith(t, ocode.Deps{Prepare: func(*exec.Cmd) (map[string]any, error) {
			return nil, tool.Errorf(tool.Unavailable, "no sandbox here").Suggest("Turn it off.")
		}})
		refused.fails("No sandbox here", "bash", args{"command": "touch made"})
		assert.NoFileExists(t, refused.path("made"))
	})
}

func TestEnv(t *testing.T) {
	t.Run("action get", func(t *testing.T) {
		t.Setenv("PATH", "/usr/bin:/bin")
		b := newBench(t)
		g := b.ok("env", args{"action": "get", "name": "PATH"})
		assert.Equal(t, "/usr/bin:/bin", g.Output)
		assert.Equal(t, "inherited", g.Metadata["source"])
		b.fails("Variable not set: NO_SUCH", "env", args{"action": "get", "name": "NO_SUCH"})
	})
	t.Run("action get hides what commands do not inherit", func(t *testing.T) {
		t.Setenv("SOME_SECRET_OF_THE_HOST", "hush")
		newBench(t).fails("Variable not set: SOME_SECRET_OF_THE_HOST", "env",
			args{"action": "get", "name": "SOME_SECRET_OF_THE_HOST"})
	})
	t.Run("action set holds for the session's commands", func(t *testing.T) {
		posix(t)
		b := newBench(t)
		b.ok("env", args{"action": "set", "name": "MODE", "value": "a 'b' $c"})
		assert.Equal(t, "a 'b' $c\n", b.ok("bash", args{"command": `echo "$MODE"`}).Output)
		assert.Equal(t, "session", b.ok("env", args{"action": "get", "name": "MODE"}).Metadata["source"])
		assert.NoFileExists(t, b.path(".env"))
	})
	t.Run("action list", func(t *testing.T) {
		b := newBench(t)
		b.write(".env", "PORT=1\nAPI_TOKEN=hush\n")
		b.ok("env", args{"action": "set", "name": "MODE", "value": "x"})
		g := b.ok("env", args{"action": "list"})
		assert.Contains(t, g.Output, "MODE=x\n")
		assert.Contains(t, g.Output, "PORT=1")
		assert.Contains(t, g.Output, "API_TOKEN=[hidden]")
		assert.NotContains(t, g.Output, "hush")
		assert.Contains(t, g.Metadata["names"], "PATH")
	})
	t.Run("action delete", func(t *testing.T) {
		b := newBench(t)
		b.ok("env", args{"action": "set", "name": "MODE", "value": "x"})
		assert.Equal(t, "Deleted MODE", b.ok("env", args{"action": "delete", "name": "MODE"}).Output)
		b.fails("Variable not set in this session: MODE", "env", args{"action": "delete", "name": "MODE"})
		b.failsWith("Variable not set in this session", "env", args{"action": "delete", "name": "PATH"})
	})
	t.Run("name", func(t *testing.T) {
		b := newBench(t)
		for _, action := range []string{"get", "set", "delete"} {
			b.fails("Name is required for action "+action, "env", args{"action": action, "value": "x"})
			b.fails(`Invalid variable name: "a b"`, "env", args{"action": action, "name": "a b", "value": "x"})
		}
	})
	t.Run("value", func(t *testing.T) {
		b := newBench(t)
		b.fails("Value is required for action set", "env", args{"action": "set", "name": "A"})
		b.ok("env", args{"action": "set", "name": "A", "value": ""})
		assert.Equal(t, "", b.ok("env", args{"action": "get", "name": "A"}).Output)
	})
	t.Run("persistent default false", func(t *testing.T) {
		b := newBench(t)
		b.ok("env", args{"action": "set", "name": "A", "value": "1"})
		assert.NoFileExists(t, b.path(".env"))
	})
	t.Run("persistent keeps comments and order", func(t *testing.T) {
		b := newBench(t)
		b.write(".env", "# the port\nPORT=80 # default\n\nexport NAME='old name'\n# last\n")
		g := b.ok("env", args{"action": "set", "name": "NAME", "value": "new name", "persistent": true})
		assert.Equal(t, "Set NAME in .env", g.Output)
		assert.Equal(t, []string{".env"}, g.files)
		b.ok("env", args{"action": "set", "name": "PORT", "value": "8080", "persistent": true})
		b.ok("env", args{"action": "set", "name": "MORE", "value": "it's\ntwo lines", "persistent": true})
		assert.Equal(t, "# the port\nPORT=8080 # default\n\nexport NAME='new name'\n# last\nMORE=\"it's\\ntwo lines\"\n", b.read(".env"))
		assert.Equal(t, "it's\ntwo lines",
			b.ok("env", args{"action": "get", "name": "MORE", "persistent": true}).Output)
		assert.Equal(t, "MORE=it's\\ntwo lines\nNAME=new name\nPORT=8080",
			b.ok("env", args{"action": "list", "persistent": true}).Output)
		b.ok("env", args{"action": "delete", "name": "NAME", "persistent": true})
		assert.Equal(t, "# the port\nPORT=8080 # default\n\n# last\nMORE=\"it's\\ntwo lines\"\n", b.read(".env"))
		b.failsWith("Variable not set in .env", "env", args{"action": "delete", "name": "NAME", "persistent": true})
		b.fails("Variable not in .env: PATH", "env", args{"action": "get", "name": "PATH", "persistent": true})
	})
	t.Run("persistent makes a file for its owner alone", func(t *testing.T) {
		posix(t)
		b := newBench(t)
		b.ok("env", args{"action": "set", "name": "A", "value": "1", "persistent": true})
		info, err := os.Stat(b.path(".env"))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	})
	t.Run("values that cannot be kept", func(t *testing.T) {
		b := newBench(t)
		g := b.failsWith("Invalid value for .env: ", "env",
			args{"action": "set", "name": "A", "value": "two\nlines\\", "persistent": true})
		assert.Contains(t, g.Metadata["suggestion"], "Leave persistent out")
		assert.NoFileExists(t, b.path(".env"))
		g = b.failsWith("Invalid value of A: it has 131070 bytes", "env",
			args{"action": "set", "name": "A", "value": strings.Repeat("x", 131070)})
		assert.Equal(t, "too_large", g.Metadata["error_code"])
		b.ok("env", args{"action": "set", "name": "A", "value": strings.Repeat("x", 131069)})
		posix(t)
		assert.Equal(t, "131069\n", b.ok("bash", args{"command": "echo ${#A}"}).Output, "what is accepted can be used")
	})
	t.Run("a file that does not parse", func(t *testing.T) {
		b := newBench(t)
		b.write(".env", "A='unclosed\n")
		b.failsWith("Invalid .env", "env", args{"action": "get", "name": "A"})
		b.failsWith("Invalid .env", "env", args{"action": "set", "name": "B", "value": "1", "persistent": true})
		assert.Equal(t, "A='unclosed\n", b.read(".env"))
	})
}

func TestPermissions(t *testing.T) {
	t.Run("refused with the contract's text", func(t *testing.T) {
		b := newBenchWith(t, ocode.Deps{Granted: []tool.Permission{}})
		b.write("a.txt", "x\n")
		for name, c := range map[string]struct {
			params args
			needs  string
		}{
			"file_read":  {args{"path": "a.txt"}, "file_read"},
			"file_write": {args{"path": "b.txt", "content": ""}, "file_write"},
			"grep":       {args{"pattern": "x"}, "file_read"},
			"diff":       {args{"source1": "a.txt", "source2": "y\n"}, "file_read"},
			"bash":       {args{"command": "touch made"}, "shell_exec"},
			"env":        {args{"action": "set", "name": "A", "value": "1"}, "env_write"},
			"json_yaml":  {args{"action": "parse", "input": "a.txt"}, "file_read"},
			"agent":      {args{"action": "list"}, "shell_exec"},
		} {
			g := b.fails("Permission denied: "+c.needs+" required", name, c.params)
			assert.Equal(t, "denied", g.Metadata["error_code"])
			assert.Equal(t, c.needs, g.Metadata["permission"])
		}
		assert.NoFileExists(t, b.path("made"))
	})
	t.Run("granted one by one", func(t *testing.T) {
		b := newBenchWith(t, ocode.Deps{Granted: []tool.Permission{tool.FileRead, tool.EnvRead}})
		b.write("a.txt", "x\n")
		b.ok("file_read", args{"path": "a.txt"})
		b.ok("env", args{"action": "list"})
		b.fails("Permission denied: file_write required", "file_edit",
			args{"path": "a.txt", "old_text": "x", "new_text": "y"})
		b.fails("Permission denied: env_write required", "env", args{"action": "delete", "name": "A"})
	})
	t.Run("what needs none", func(t *testing.T) {
		b := newBenchWith(t, ocode.Deps{Granted: []tool.Permission{}})
		b.ok("think", args{"task": "x"})
		b.ok("memory_write", args{"key": "k", "value": "v"})
		b.ok("json_yaml", args{"action": "parse", "input": "{}"})
		b.ok("diff", args{"source1": "a\n", "source2": "b\n"})
	})
}

func TestHostErrors(t *testing.T) {
	g := func(err *tool.Error) string { return string(ocode.RenderError(nil, err).Structured) }
	denied := tool.Errorf(tool.Denied, "the call of bash is denied: because").Suggest("Ask.").With("rule",
		"permission shell_exec")
	assert.Contains(t, g(denied), `"error":"Permission denied: shell_exec required"`)
	assert.Contains(t, g(tool.Errorf(tool.NotFound, "there is no tool named \"x\"").Suggest("y")),
		`"success":false,"output":"","error":"There is no tool named \"x\""`)
}
