package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
)

func TestAskForm(t *testing.T) {
	form := tool.Form{Message: "Where to?", Schema: json.RawMessage(`{"type":"object","properties":{
		"zip":{"type":"string","minLength":4,"title":"Zip"},
		"floor":{"type":"integer","minimum":0,"default":2},
		"lift":{"type":"boolean"},
		"kind":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]},
		"days":{"type":"array","items":{"type":"string","enum":["mo","tu","we"]}}
	},"required":["zip","kind"]}`)}
	for _, tt := range []struct{ name, typed, action, content string }{
		{"all", "8001\n5\nyes\nb\nmo, we\n", "accept",
			`{"zip":"8001","floor":5,"lift":true,"kind":"b","days":["mo","we"]}`},
		{"defaults and empty ones", "8001\n\n\na\n\n", "accept", `{"zip":"8001","floor":2,"kind":"a"}`},
		{"corrected", "80\n\n8001\nx\n-1\n3\nn\nc\na\nsu\nmo\n", "accept",
			`{"zip":"8001","floor":3,"lift":false,"kind":"a","days":["mo"]}`},
		{"by their titles", "8001\n\n\nb1\nB\n\n", "accept", `{"zip":"8001","floor":2,"kind":"b"}`},
		{"never right", "1\n2\n3\n4\n", "cancel", ``},
		{"end of input", "8001\n", "cancel", ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var screen strings.Builder
			a := &app{in: strings.NewReader(tt.typed), out: io.Discard, err: &screen}
			answer, err := a.askForm(t.Context(), form)
			require.NoError(t, err)
			assert.Equal(t, tt.action, answer.Action, screen.String())
			if tt.content != "" {
				assert.JSONEq(t, tt.content, string(answer.Content))
			}
			assert.Regexp(t, `(?s)^Where to\?\nZip: `, screen.String())
		})
	}
}

// An oddly declared field does not prevent the others, and a number may be chosen by its title.
func TestAskFormWithOddFields(t *testing.T) {
	form := tool.Form{Message: "Which?", Schema: json.RawMessage(`{"type":"object","properties":{
		"odd":{"type":"string","title":5},
		"n":{"type":"integer","oneOf":[{"const":1,"title":"One"},{"const":9007199254740993,"title":"Many"}]},
		"last":{"type":"integer","enum":[1,2]}
	},"required":["odd","n","last"]}`)}
	var screen strings.Builder
	a := &app{in: strings.NewReader("x\nMany\n2\n"), out: io.Discard, err: &screen}
	answer, err := a.askForm(t.Context(), form)
	require.NoError(t, err)
	assert.Equal(t, "accept", answer.Action, screen.String())
	assert.Contains(t, string(answer.Content), `"n":9007199254740993`)
	assert.Contains(t, string(answer.Content), `"last":2`)
	assert.Contains(t, screen.String(), "n [1 (One), 9007199254740993 (Many)]: ")
}

// Choices are shown with their titles, and a wrong choice is answered with the valid ones.
func TestAskForChoice(t *testing.T) {
	form := tool.Form{Message: "Which?", Schema: json.RawMessage(`{"type":"object","properties":{
		"color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}
	},"required":["color"]}`)}
	var screen strings.Builder
	a := &app{in: strings.NewReader("1\ngreen\n"), out: io.Discard, err: &screen}
	answer, err := a.askForm(t.Context(), form)
	require.NoError(t, err)
	assert.JSONEq(t, `{"color":"g"}`, string(answer.Content))
	assert.Contains(t, screen.String(), "color [r (Red), g (Green)]: ")
	assert.Contains(t, screen.String(), `color: must be one of "r", "g", not "1"`)
}

// After the end of input a question is asked only once.
func TestAskAfterTheEndOfInput(t *testing.T) {
	form := tool.Form{Message: "Which?",
		Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}
	var screen strings.Builder
	a := &app{in: strings.NewReader(""), out: io.Discard, err: &screen}
	answer, err := a.askForm(t.Context(), form)
	require.NoError(t, err)
	assert.Equal(t, "cancel", answer.Action)
	assert.Equal(t, "Which?\na: \n", screen.String(), "once, and the line is ended")
}

// A form without fields needs a word; an empty line is no consent.
func TestAskForConsent(t *testing.T) {
	for typed, action := range map[string]string{"y\n": "accept", "YES\n": "accept", "n\n": "decline", "\n": "decline",
		"": "decline"} {
		a := &app{in: strings.NewReader(typed), out: io.Discard, err: io.Discard}
		answer, err := a.askForm(t.Context(), tool.Form{Message: "Sure?"})
		require.NoError(t, err)
		assert.Equal(t, action, answer.Action, "%q", typed)
	}
}

func TestAPageIsShownAndNotOpened(t *testing.T) {
	var screen strings.Builder
	a := &app{in: strings.NewReader("y\n"), out: io.Discard, err: &screen}
	answer, err := a.askForm(t.Context(),
		tool.Form{Message: "Visit a page of pay.example?", URL: "https://pay.example/x"})
	require.NoError(t, err)
	assert.True(t, answer.Accepted())
	assert.Equal(t, "Visit a page of pay.example?\n\n  https://pay.example/x\n\n"+
		"toolhost does not open it. If you trust the site, open it yourself and do there what is asked.\nGo on? (y/n): ", screen.String())
}
