package console

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/userdir"
	"github.com/toolhost/toolhost/internal/test/testfile"
)

// withSpace is a console of a user with one workspace.
func withSpace(t *testing.T) (*Server, *space) {
	t.Helper()
	s := at(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir, err := userdir.State(root)
	require.NoError(t, err)
	logs := filepath.Join(dir, "record")
	require.NoError(t, os.MkdirAll(logs, 0o700))
	line, err := json.Marshal(map[string]string{"workspace": root})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(logs, "1.jsonl"), append(line, '\n'), 0o600))
	all := s.spaces.all()
	require.Len(t, all, 1)
	return s, all[0]
}

// Violations keep their paths, which name fields; their texts hide nothing.
func TestViolationsIn(t *testing.T) {
	out := `{"error":{"details":{"violations":[{"path":"a\u202e[1].b","message":"must \u202e not"}]}}}`
	assert.JSONEq(t, `[{"path":"a\u202e[1].b","message":"must \\u202e not"}]`, string(violationsIn([]byte(out))))
	for _, none := range []string{"", "{}", "no JSON", `{"error":{"message":"x"}}`} {
		assert.Nil(t, violationsIn([]byte(none)), none)
	}
}

// Saved calls belong to a tool, are replaced by name, deleted, and bounded, and hold no secret.
func TestSavedCalls(t *testing.T) {
	s, found := withSpace(t)
	s.options.Toolhost = filepath.Join(t.TempDir(), "toolhost")
	testfile.Program(t, s.options.Toolhost, "#!/bin/sh\n"+
		`echo '{"parameters":{"type":"object","properties":{"a":{"type":"integer"},"pin":{"type":"string","writeOnly":true}}}}'`+"\n")
	page, key := enter(t, s)
	save := func(toolset, name, params string) (int, string) {
		body, err := json.Marshal(map[string]string{"space": found.id, "toolset": toolset, "tool": "t", "name": name,
			"params": params})
		require.NoError(t, err)
		r, told := answer(s, own(s, "POST", "/api/save", string(body), page, key))
		return r.StatusCode, told
	}
	list := func(query string) string {
		_, body := answer(s, own(s, "GET", "/api/saved?space="+found.id+query, "", page, key))
		return body
	}
	assert.JSONEq(t, `[]`, list("&tool=t"))
	for _, c := range [][2]string{{"", `{"a":1}`}, {"", `{"a":2}`}, {"ocode", `{"a":3}`}} {
		status, told := save(c[0], "mine", c[1])
		require.Equal(t, 200, status, told)
	}
	assert.JSONEq(t, `[{"toolset":"","tool":"t","name":"mine","params":"{\"a\":2}"}]`, list("&tool=t"))
	assert.Contains(t, list("&tool=t&toolset=ocode"), `\"a\":3`)
	kept, told := save("ocode", "secret", `{"a":4,"pin":"S3CRET"}`)
	require.Equal(t, 200, kept, told)
	assert.Contains(t, list("&tool=t&toolset=ocode"), `{\"a\":4,\"pin\":null}`)
	text, err := os.ReadFile(found.savedFile())
	require.NoError(t, err)
	assert.NotContains(t, string(text), "S3CRET")
	assert.JSONEq(t, `[]`, list("&tool=other"))
	for name, params := range map[string]string{"": "{}", "broken": "{",
		"large": `"` + strings.Repeat("x", mostSavedCall) + `"`} {
		status, _ := save("", name, params)
		assert.Equal(t, 400, status, name)
	}
	status, _ := save("", "mine", "")
	assert.Equal(t, 200, status)
	assert.JSONEq(t, `[]`, list("&tool=t"))
	info, err := os.Stat(found.savedFile())
	require.NoError(t, err)
	assert.Zero(t, info.Mode().Perm()&0o077)
	require.NoError(t, os.WriteFile(found.savedFile(), []byte("no JSON"), 0o600))
	assert.Contains(t, list("&tool=t"), "Remove")
}

// An invalid call is refused before toolhost is asked.
func TestTryWhatIsNoCall(t *testing.T) {
	s, found := withSpace(t)
	page, key := enter(t, s)
	for _, bad := range []string{`{"do":"run"}`, `{"do":"delete","params":"{}"}`, `{"do":"","params":"{}"}`,
		`{"x":1}`} {
		body := strings.Replace(bad, "{", `{"space":"`+found.id+`","tool":"t",`, 1)
		r, told := answer(s, own(s, "POST", "/api/try", body, page, key))
		assert.Equal(t, 400, r.StatusCode, told)
	}
}
