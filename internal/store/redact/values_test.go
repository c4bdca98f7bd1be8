package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/redact"
)

// A value is found however it is escaped in JSON, and however often the text was put into JSON again.
func TestEscapedValues(t *testing.T) {
	secret := "pä\"ss\\w/ö<&>rd\t😀"
	r := redact.New([]string{secret})
	short := strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\t", `\t`)
	all := ""
	for _, unit := range utf16.Encode([]rune(secret)) {
		all += fmt.Sprintf(`\u%04X`, unit)
	}
	forms := map[string]string{
		"as it is": secret, "every character": all, "lower case": strings.ReplaceAll(strings.ToLower(all), `\U`, `\u`),
		"short escapes": short.Replace(secret), "slash": strings.ReplaceAll(short.Replace(secret), "/", `\/`),
		"ASCII": strings.NewReplacer("ä", `\u00e4`, "ö", `\u00F6`, "😀", `\ud83d\ude00`).Replace(short.Replace(secret)),
		"HTML":  strings.NewReplacer("<", `\u003c`, "&", `\u0026`, ">", `\u003e`).Replace(short.Replace(secret)),
	}
	for name, form := range forms {
		for depth := range 4 {
			text := "a" + form + "b"
			assert.Equal(t, "a[redacted]b", r.String(text), "%s, %d times over: %s", name, depth, text)
			assert.Equal(t, `{"k":"a[redacted]b"}`, string(r.JSON(json.RawMessage(`{"k":`+encoded(text)+`}`))), name)
			pieces := strings.Split(text, "")
			assert.Equal(t, "a[redacted]b", throughStream([]string{secret}, pieces...), name)
			inner := encoded(form)
			form = inner[1 : len(inner)-1]
		}
	}
}

func encoded(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Nothing is left of secrets that overlap.
func TestOverlappingValues(t *testing.T) {
	r := redact.New([]string{"hunter2", "hunter2-and-the-rest-of-a-longer-token", "token-of-more", "abcd", "cdefgh"})
	for text, want := range map[string]string{
		"x hunter2-and-the-rest-of-a-longer-token y":         "x [redacted] y",
		"x hunter2-and-the-rest-of-a-longer-token-of-more y": "x [redacted] y",
		"abcdefgh": "[redacted]", "abcdefg": "[redacted]efg", "hunter2": "[redacted]", "hunter": "hunter",
	} {
		assert.Equal(t, want, r.String(text), text)
		assert.Equal(t, want, throughStream([]string{"hunter2", "hunter2-and-the-rest-of-a-longer-token",
			"token-of-more", "abcd", "cdefgh"}, strings.Split(text, "")...), text)
	}
	assert.Less(t, len(throughStream([]string{"aaaa"}, slicesOf(3000, strings.Repeat("a", 100))...)), 1000)
}

func slicesOf(n int, s string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

// A secret number is redacted, and the JSON stays valid.
func TestSecretNumbers(t *testing.T) {
	got := redact.New([]string{"123456"}).JSON(json.RawMessage(`{"a":123456,"b":[-1.5e3,9123456],"c":"123456","d":true}`))
	require.True(t, json.Valid(got), "%s", got)
	assert.Equal(t, `{"a":"[redacted]","b":[-1.5e3,"9[redacted]"],"c":"[redacted]","d":true}`, string(got))
	quoted := redact.New([]string{`"abc`}).JSON(json.RawMessage(`{"a":"abcd","b":"x\"abc"}`))
	assert.Equal(t, `{"a":"abcd","b":"x[redacted]"}`, string(quoted), "the quotes of JSON are no part of a value")
}

func BenchmarkString(b *testing.B) {
	r := redact.New([]string{"hunter2-and-more", "another-secret", "p\u00e4ss"})
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, \"happily\"\\n.\n", 20000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_ = r.String(text)
	}
}
