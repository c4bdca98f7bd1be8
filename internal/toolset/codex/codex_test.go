package codex_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/handstest"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/codex"
)

type cases = []handstest.Case

func TestCommands(t *testing.T) {
	testneed.Program(t, "bash")
	b := handstest.New(t, codex.New, "d/f", "x")
	testneed.Symlink(t, "/tmp", b.Path("out"))
	sleep := string(testproc.Sleep(t))
	b.Check(cases{
		{Tool: "exec_command", Params: `{"cmd":"echo hi; exit 3"}`, Has: []string{
			"Wall time: 0.", "Process exited with code 3\nOutput:\nhi\n"}},
		{Tool: "exec_command", Params: `{"cmd":"pwd","workdir":"d"}`, Has: []string{"Output:\n{{DIR}}/d\n"}},
		{Tool: "exec_command", Params: `{"cmd":"cat; [ -t 1 ] || echo pipe"}`, Has: []string{"Output:\npipe\n"}},
		{Tool: "exec_command", Params: `{"cmd":"[ -t 0 ] && echo terminal","tty":true}`, Has: []string{"terminal"}},
		{Tool: "exec_command", Params: `{"cmd":"pwd","workdir":"../"}`, Text: "*", Fails: true},
		{Tool: "exec_command", Params: `{"cmd":"pwd","workdir":"out"}`, Text: "*", Fails: true},
		{Tool: "exec_command", Params: `{"cmd":"pwd","shell":"./sh"}`, Text: "*", Fails: true},
		{Tool: "exec_command", Params: `{"cmd":" "}`, Text: "*", Fails: true},
		{Tool: "exec_command", Params: `{"cmd":"id","sandbox_permissions":"require_escalated","justification":"?"}`, Fails: true,
			Has: []string{"no command runs outside the sandbox"}},
		{Tool: "exec_command", Params: `{"cmd":"seq 1 5000","max_output_tokens":100}`, Has: []string{
			"Original token count: 5", "tokens truncated…", "Output:\n1\n2\n"}},
		{Tool: "write_stdin", Params: `{"session_id":99}`, Has: []string{"write_stdin failed: Unknown process id 99"}, Fails: true},
		{Tool: "shell_command", Params: `{"command":"echo out; echo err >&2"}`, Has: []string{
			"Exit code: 0\nWall time: ", " seconds\nOutput:\nout\nerr\n"}},
		{Tool: "shell_command", Params: `{"command":"exit 4"}`, Has: []string{"Exit code: 4\n"}, Fails: true},
		{Tool: "shell_command", Params: `{"command":"echo a; ` + sleep + `","timeout_ms":{{LIMIT}}.0}`, Fails: true,
			Has: []string{"command timed out after {{LIMIT}} milliseconds\na\n"}},
		{Tool: "shell", Params: `{"commands":["echo a; echo b >&2","exit 5","` + sleep + `","echo never"],"timeout_ms":{{LIMIT}}}`,
			Text: `[{"stdout":"a\n","stderr":"b\n","outcome":{"type":"exit","exit_code":0}},` +
				`{"stdout":"","stderr":"","outcome":{"type":"exit","exit_code":5}},` +
				`{"stdout":"","stderr":"","outcome":{"type":"timeout"}}]`},
		{Tool: "shell", Params: `{"commands":["echo 123456789"],"max_output_length":4}`, Has: []string{
			`"stdout":"12\n[... 6 bytes (0 lines) left out; `, ` ...]\n9\n[4 of 10 bytes are shown; `}},
		{Tool: "shell", Params: `{"commands":["seq 100000"]}`, Has: []string{`"stdout":"1\n2\n`, `\n99999\n100000\n[`}},
		{Tool: "shell", Params: `{"commands":["touch made",""]}`, Has: []string{"the command is empty"}, Fails: true,
			After: map[string]string{"made": "<none>"}},
	})
}

func TestSessions(t *testing.T) {
	testneed.Program(t, "bash")
	b := handstest.New(t, codex.New)
	r := b.Call(t.Context(), "exec_command", `{"cmd":"read a; echo got $a; read b; exit 6","tty":true,"yield_time_ms":250}`)
	found := regexp.MustCompile(`Process running with session ID (\d+)\n`).FindStringSubmatch(r.Text())
	require.NotNil(t, found, r.Text())
	said := ""
	end := time.Now().Add(handstest.Patience)
	for chars := `one\n`; !strings.Contains(said, "got one") && time.Now().Before(end); chars = "" {
		said = b.Call(t.Context(), "write_stdin", `{"session_id":`+found[1]+`,"chars":"`+chars+`"}`).Text()
		assert.Contains(t, said, "Process running with session ID "+found[1])
	}
	assert.Contains(t, said, "got one")
	b.Check(cases{
		{Tool: "write_stdin", Params: `{"session_id":` + found[1] + `,"chars":""}`, Hasnt: []string{"got"}, Text: "*"},
		{Tool: "write_stdin", Params: `{"session_id":` + found[1] + `,"chars":"two\n","yield_time_ms":30000}`,
			Has: []string{"Process exited with code 6"}},
	})
	r = b.Call(t.Context(), "exec_command", `{"cmd":"`+string(testproc.Sleep(t))+`","yield_time_ms":250}`)
	found = regexp.MustCompile(`session ID (\d+)\n`).FindStringSubmatch(r.Text())
	require.NotNil(t, found, r.Text())
	b.Check(cases{{Tool: "write_stdin", Params: `{"session_id":` + found[1] + `,"chars":"x"}`, Fails: true,
		Has: []string{"stdin is closed for this session"}}})
}

func TestPlanAndImage(t *testing.T) {
	b := handstest.New(t, codex.New, "p.png", "\x89PNG", "p.txt", "x")
	b.Check(cases{
		{Tool: "update_plan", Params: `{"plan":[{"step":"a","status":"in_progress"}]}`, Text: "Plan updated"},
		{Tool: "update_plan", Params: `{"plan":[{"step":"a"}]}`, Text: "*", Fails: true},
		{Tool: "view_image", Params: `{"path":"p.txt"}`, Has: []string{"unable to process image"}, Fails: true},
		{Tool: "view_image", Params: `{"path":"../p.png"}`, Text: "*", Fails: true},
	})
	r := b.Call(t.Context(), "view_image", `{"path":"p.png"}`)
	require.Len(t, r.Contents, 1)
	assert.Equal(t, tool.KindImage, r.Contents[0].Kind)
}

// The Responses API's operations are patches of one file.
func TestOperations(t *testing.T) {
	b := handstest.New(t, codex.New, "f", "a\nb\n")
	var patch tool.Normalizer
	for _, tl := range codex.New(b.Deps) {
		if tl.Definition().Name == "apply_patch" {
			patch = tl.(tool.Normalizer)
		}
	}
	for _, c := range []struct {
		operation string
		after     map[string]string
	}{
		{`{"type":"create_file","path":"n","diff":"+x\n+y\n"}`, map[string]string{"n": "x\ny\n"}},
		{`{"operation":{"type":"update_file","path":"f","diff":"@@\n a\n-b\n+c\n"}}`, map[string]string{"f": "a\nc\n"}},
		{`{"type":"delete_file","path":"n"}`, map[string]string{"n": "<none>"}},
	} {
		r := b.Call(t.Context(), "apply_patch", string(patch.Normalize([]byte(c.operation))))
		assert.Nil(t, r.Failed, r.Text())
		for name, text := range c.after {
			assert.Equal(t, text, b.Read(name))
		}
	}
	given := `{"type":"create_file","path":"n\n*** Delete File: f","diff":""}`
	assert.Equal(t, given, string(patch.Normalize([]byte(given))), "a path is one line")
}
