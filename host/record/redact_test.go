package record_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/record"
)

func TestRedactShapes(t *testing.T) {
	r := record.NewRedactor(nil)
	for _, c := range []struct{ text, want string }{
		{"plain text, nothing in it", "plain text, nothing in it"},
		{"key AKIA" + "IOSFODNN7EXAMPLE end", "key [redacted] end"},
		{"ghp_" + strings.Repeat("a1", 18), "[redacted]"},
		{"github_pat_" + strings.Repeat("A", 30), "[redacted]"},
		{"Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]"},
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
	r := record.NewRedactor([]string{"hunter2", "hunter2longer", "", "abc", "two\nlines", `q"uote`})
	assert.Equal(t, "[redacted] [redacted]x abc", r.String("hunter2longer hunter2x abc"))
	got := r.JSON(json.RawMessage(`{"hunter2":["two\nlines", {"x":"a q\"uote","n":12}], "é":"\u0068unter2"}`))
	assert.JSONEq(t, `{"[redacted]":["[redacted]", {"x":"a [redacted]","n":12}], "é":"[redacted]"}`, string(got))
	var none *record.Redactor
	assert.Equal(t, "hunter2", none.String("hunter2"))
}

func TestRedactNames(t *testing.T) {
	r := record.NewRedactor(nil)
	got := r.JSON(json.RawMessage(`{"password":"x", "api-key" : "y", "Token":["kept"], "passwords":"z", "list":["password","x"], "empty":{"secret":""}}`))
	assert.JSONEq(t, `{"password":"[redacted]", "api-key":"[redacted]", "Token":["kept"], "passwords":"z", "list":["password","x"], "empty":{"secret":""}}`, string(got))
}

func TestEventsAreRedacted(t *testing.T) {
	r := recorder(t, func(o *record.Options) { o.Secrets = []string{"s3cret-value"} })
	long := strings.Repeat("a", 16<<10-5) + "s3cret-value"
	require.NoError(t, r.Event(t.Context(), "s", "e", map[string]any{"params": map[string]any{"args": "x s3cret-value", "long": long}}))
	line := lines(t, filepath.Join(r.ArtifactDir("s"), "events.jsonl"))[0]
	assert.Contains(t, line, `"args":"x [redacted]"`)
	assert.NotContains(t, line, "s3cr", "a secret is taken out before a text is cut")
}

// A text that is cut is looked at no further than a secret at the cut can reach.
func TestSecretsAtTheCut(t *testing.T) {
	secret := "s3cret-" + strings.Repeat("v", 3000)
	r := recorder(t, func(o *record.Options) { o.Secrets = []string{secret} })
	fill := strings.Repeat(secret, 20)
	for shift := range 40 {
		text := fill + strings.Repeat("a", 200*shift) + secret + strings.Repeat("b", 100_000)
		require.NoError(t, r.Event(t.Context(), "s", "e", map[string]any{"text": text}))
	}
	for _, line := range lines(t, filepath.Join(r.ArtifactDir("s"), "events.jsonl")) {
		assert.NotContains(t, line, "s3c")
		assert.NotContains(t, line, "vvv")
		assert.Contains(t, line, "bytes left out]")
	}
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
		got := record.NewRedactor([]string{secret}).JSON(data)
		var back map[string][]string
		require.NoError(t, json.Unmarshal(got, &back), "%s", got)
		if valid := strings.ToValidUTF8(secret, ""); len(secret) >= 4 && valid == secret && !strings.Contains(record.Redacted, secret) {
			for _, values := range back {
				for _, v := range values {
					rest := strings.ReplaceAll(v, record.Redacted, "\x00")
					assert.NotContains(t, rest, secret)
				}
			}
		}
	})
}
