package main

import (
	"testing"

	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

func TestCountWords(t *testing.T) {
	p := plugintest.Start(t, plugin(), plugintest.Options{})
	r, err := p.Call(t.Context(), "count_words", input{Text: "to be or not To be", Word: "to"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Text(); got != `{"words":2}` {
		t.Errorf("got %s", got)
	}
}

func TestCountWordsRefusesTwo(t *testing.T) {
	p := plugintest.Start(t, plugin(), plugintest.Options{})
	if _, err := p.Call(t.Context(), "count_words", input{Text: "a b", Word: "a b"}); err == nil {
		t.Error("no error")
	}
}
