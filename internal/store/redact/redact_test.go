package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/redact"
)

func TestRedactShapes(t *testing.T) {
	r := redact.WithShapes(nil)
	for _, c := range []struct{ text, want string }{
		{"plain text, nothing in it", "plain text, nothing in it"},
		{"key AKIA" + "IOSFODNN7EXAMPLE end", "key [redacted] end"},
		{"ghp_" + strings.Repeat("a1", 18), "[redacted]"},
		{"github_pat_" + strings.Repeat("A", 30), "[redacted]"},
		{"Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]"},
		{"AUTHORIZATION: BEARER abc.def-ghi_jkl", "AUTHORIZATION: BEARER [redacted]"},
		{"AUTHORIZATION: BASIC dXNlcjpwYXNzd29yZA==", "AUTHORIZATION: BASIC [redacted]"},
		{"bearer of bad news", "bearer of bad news"},
		{"a basic introduction to", "a basic introduction to"},
		{"authorization: Basic dXNlcjpwYXNzd29yZA==", "authorization: Basic [redacted]"},
		{"postgres://user:hunter2@db/x", "postgres://user:[redacted]@db/x"},
		{"https://example.com/a@b", "https://example.com/a@b"},
		{"mail me@example.com", "mail me@example.com"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "[redacted]"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]"},
		{"task-runner sk-short", "task-runner sk-short"},
		{"sk-" + strings.Repeat("x", 40), "[redacted]"},
	} {
		assert.Equal(t, c.want, r.String(c.text))
	}
}

func TestRedactValues(t *testing.T) {
	r := redact.WithShapes([]string{"hunter2", "hunter2longer", "", "abc", "two\nlines", `q"uote`})
	assert.Equal(t, "[redacted] [redacted]x abc", r.String("hunter2longer hunter2x abc"))
	got := r.JSON(json.RawMessage(`{"hunter2":["two\nlines", {"x":"a q\"uote","n":12}], "é":"\u0068unter2"}`))
	assert.JSONEq(t, `{"[redacted]":["[redacted]", {"x":"a [redacted]","n":12}], "é":"[redacted]"}`, string(got))
	var none *redact.Redactor
	assert.Equal(t, "hunter2", none.String("hunter2"))
}

func TestRedactNames(t *testing.T) {
	r := redact.WithShapes(nil)
	got := r.JSON(json.RawMessage(`{"password":"x", "api-key" : "y", "Token":["kept"], "passwords":"z", ` +
		`"list":["password","x"], "empty":{"secret":""}}`))
	assert.JSONEq(t, `{"password":"[redacted]", "api-key":"[redacted]", "Token":["kept"], "passwords":"z", `+
		`"list":["password","x"], "empty":{"secret":""}}`, string(got))
}

// Whatever the value and the text, the result is valid JSON without the value.
func FuzzRedactJSON(f *testing.F) {
	f.Add("hunter2", "a hunter2 b")
	f.Add(`n1234`, "\n1234")
	f.Add(`\\\"`, `\"\\`)
	f.Add("uD83d", "😀")
	f.Fuzz(func(t *testing.T, secret, text string) {
		data, err := json.Marshal(map[string]any{"k": []string{text, secret, text + secret}})
		require.NoError(t, err)
		got := redact.WithShapes([]string{secret}).JSON(data)
		var back map[string][]string
		require.NoError(t, json.Unmarshal(got, &back), "%s", got)
		if valid := strings.ToValidUTF8(secret, ""); len(secret) >= 4 && valid == secret &&
			!strings.Contains(redact.Mark, secret) {
			for _, values := range back {
				for _, v := range values {
					rest := strings.ReplaceAll(v, redact.Mark, "\x00")
					assert.NotContains(t, rest, secret)
				}
			}
		}
	})
}
