package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const listChanged = "notifications/tools/list_changed"

func extra(name string) string {
	return fmt.Sprintf("tool %q {\n  description = \"Say hi. Returns: hi.\"\n  risk = \"read_only\"\n  command {\n"+
		"    argv = [\"echo\", \"hi\"]\n  }\n}\n", name)
}

func doctor(t *testing.T, dir string) string {
	t.Helper()
	stdout, _, _ := runIn(t, dir, "doctor")
	var lines []string
	for line := range strings.Lines(stdout) {
		if strings.Contains(line, " serve ") || len(lines) > 0 && strings.HasPrefix(line, "  ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestAllSessionsOverHTTPFollowChanges(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	dir := t.TempDir()
	served := func(name, rename string) string {
		return extra(name) + "toolset \"served\" {\n  tools  = [\"" + name + "\", \"head\", \"tail\"]\n  rename = {" +
			rename + "}\n}\n"
	}
	plant(t, dir, texts{"agent.hcl": served("one", "")})
	s := serveHTTP(t, dir, nil, "--http", "0", "--no-token", "--toolset", "served")
	var told atomic.Int64
	sessions := make([]*mcp.ClientSession, 5)
	for i := range sessions {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told.Add(1) },
		})
		var err error
		sessions[i], err = client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		require.NoError(t, err)
		defer sessions[i].Close()
	}
	assert.Empty(t, doctor(t, dir))
	plant(t, dir, texts{"agent.hcl": served("two", "")})
	eventually(t, "all are told", func() bool { return told.Load() >= 5 })
	for _, session := range sessions {
		names := offeredTo(t, session)
		assert.Contains(t, names, "two")
		assert.NotContains(t, names, "one")
	}

	// Duplicate tool names are refused.
	plant(t, dir, texts{"agent.hcl": served("three", "tail = \"head\"")})
	eventually(t, "the refusal", func() bool { return strings.Contains(s.log(), "is a tool of this set already") })
	eventually(t, "doctor's word",
		func() bool { return strings.Contains(doctor(t, dir), "is a tool of this set already") })
	plant(t, dir, texts{"agent.hcl": "tool \"four\" {\n  descripton = 1\n}\n"})
	eventually(t, "the reason in the log", func() bool { return strings.Contains(s.log(), "descripton") })
	eventually(t, "the outcome in the log", func() bool { return strings.Contains(s.log(), "line 2: ") })
	assert.NotContains(t, s.log(), `error="Error: `, "a mistake is told once")
	eventually(t, "doctor's other word", func() bool { return strings.Contains(doctor(t, dir), "descripton") })
	assert.Equal(t, "hi\n", called(t, sessions[0], "two", nil), "the tools stay as they were")
	plant(t, dir, texts{"agent.hcl": served("five", "")})
	eventually(t, "the corrected file", func() bool {
		return strings.Contains(strings.Join(offeredTo(t, sessions[4]), " "), "five")
	})
	eventually(t, "doctor to be content", func() bool { return doctor(t, dir) == "" })
}

func TestACallThatRunsSurvivesAChange(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	dir := t.TempDir()
	plant(t, dir, texts{"agent.hcl": "limits {\n  output = \"64KiB\"\n}\n"})
	s := serve(t, dir, "--toolset", "cliagent", "--log-level", "info")
	id := s.startCall("run_in_terminal",
		`{"command":"echo started > started; while [ ! -e go ]; do sleep 0.05; done; echo went on"}`)
	eventually(t, "it runs", func() bool { return exists(dir, "started") })
	plant(t, dir, texts{"agent.hcl": "limits {\n  output = \"32KiB\"\n}\n"})
	s.until("the change", func() bool { return strings.Contains(s.stderr.String(), "was read again") })
	assert.False(t, s.call("run_in_terminal", `{"command":"echo new"}`).IsError)
	plant(t, dir, texts{"go": ""})
	r := s.result(id)
	assert.False(t, r.IsError, r.text())
	assert.Contains(t, r.text(), "went on")
}

func TestAReplacedPluginIsNoticed(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	dir := t.TempDir()
	become := func(name string) {
		script := "#!/bin/sh\nexec '" + filepath.Join(binaries, "toolhost") + "' internal plugin " + name + "\n"
		next := filepath.Join(dir, "next")
		testfile.Program(t, next, script)
		require.NoError(t, os.Rename(next, filepath.Join(dir, "plug")))
	}
	become("files")
	plant(t, dir, texts{"agent.hcl": "sandbox {\n  level = \"off\"\n}\nplugin \"mine\" {\n  source = \"./plug\"\n  prefix = \"my_\"\n}\n"})
	s := serve(t, dir)
	require.Contains(t, s.offered(), "my_write_file")
	become("cliagent")
	s.until(listChanged, func() bool { return s.notedLocked(listChanged) > 0 })
	eventually(t, "the tools are those of the other program", func() bool {
		names := s.offered()
		return slices.Contains(names, "my_run_in_terminal") && !slices.Contains(names, "my_write_file")
	})
}

func TestAnIncludedTaskfileIsWatched(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	dir := t.TempDir()
	plant(t, dir, texts{
		".agent/Taskfile.yml": "version: '3'\nincludes:\n  more: ./more.yml\n",
		".agent/more.yml":     "version: '3'\ntasks:\n  one:\n    desc: First\n    cmds: [echo 1]\n",
	})
	s := serve(t, dir)
	s.until("the first listing", func() bool { return s.notedLocked(listChanged) > 0 })
	assert.Contains(t, s.call("list_commands", `{}`).text(), `"more:one"`)
	told := s.noted(listChanged)
	plant(t, dir, texts{".agent/more.yml": "version: '3'\ntasks:\n  two:\n    desc: Second\n    cmds: [echo 2]\n"})
	s.until(listChanged, func() bool { return s.notedLocked(listChanged) > told })
	assert.Contains(t, s.call("list_commands", `{}`).text(), `"more:two"`)
	healthy, _, _ := runIn(t, dir, "doctor")
	assert.NotContains(t, healthy, "! Taskfile")

	plant(t, dir, texts{".agent/more.yml": "version: '3'\ntasks:\n  two:\n    cmds: 3\n"})
	s.until("the reason in the log", func() bool {
		log := s.stderr.String()
		return strings.Contains(log, "the Taskfile cannot be used") && strings.Contains(log, "more.yml:4")
	})
	broken := s.call("list_commands", `{}`)
	assert.True(t, broken.IsError)
	findings, _, _ := runIn(t, dir, "doctor")
	for where, text := range map[string]string{"answer": broken.text(), "doctor": findings} {
		assert.Contains(t, text, "more.yml:4", where)
	}
	assert.Contains(t, findings, "! Taskfile")
}

// A changed agent.hcl's trees and protected paths apply to toolhost's own tools at once, too.
func TestAChangeOfTheTreesReachesTheFileTools(t *testing.T) {
	testneed.NotShort(t, "waits for watchers of files")
	dir, outside := t.TempDir(), t.TempDir()
	plant(t, dir, texts{"agent.hcl": "workspace {}\n", "kept.txt": "old"})
	plant(t, outside, texts{"beside.txt": "there"})
	s := serve(t, dir, "--log-level", "info")
	read := fmt.Sprintf(`{"path":%q}`, filepath.Join(outside, "beside.txt"))
	edit := `{"path":"kept.txt","old_str":"old","new_str":"new"}`
	write := `{"path":"kept.txt","content":"new"}`
	assert.True(t, s.call("read_file", read).IsError)

	plant(t, dir,
		texts{"agent.hcl": fmt.Sprintf("workspace {\n  allow = [%q]\n  protect = [\"kept.txt\"]\n}\n", outside)})
	s.until("the change", func() bool { return strings.Count(s.stderr.String(), "was read again") > 0 })
	eventually(t, "it may be read", func() bool { return !s.call("read_file", read).IsError })
	for tool, params := range map[string]string{"edit_file": edit, "write_file": write} {
		r := s.call(tool, params)
		assert.True(t, r.IsError, tool)
		assert.Contains(t, r.text(), "kept.txt")
	}
	assert.True(t, s.call("multi_edit", `{"path":"kept.txt","edits":[{"old_str":"old","new_str":"new"}]}`).IsError)
	assert.Equal(t, "old", content(t, dir, "kept.txt"))

	plant(t, dir, texts{"agent.hcl": "workspace {\n}\n"})
	eventually(t, "it may be written", func() bool { return !s.call("edit_file", edit).IsError })
	assert.True(t, s.call("read_file", read).IsError)

	plant(t, dir, texts{"agent.hcl": "workspace {\n  root = \"..\"\n}\n"})
	s.until("the refusal", func() bool { return strings.Contains(s.stderr.String(), "workspace.root has changed") })
	assert.False(t, s.call("read_file", `{"path":"kept.txt"}`).IsError)
}
