package main

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// go-task expands the value of a variable, and so an argument, as a template, and expands it again if
// another variable is made of it: {{"'; rm x; '"}} would break out of its quotes. It also removes
// "<no value>", which can join two braces to a template. So neither "{{" nor "<no value>" reaches a value
// unchanged.

// quoteWords returns the words as one shell text, for CLI_ARGS. Quotes, which the shell removes, separate
// template braces: however often the text is expanded, it contains no template.
func quoteWords(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, word := range words {
		var b strings.Builder
		for _, piece := range pieces(word) {
			text, err := syntax.Quote(piece, syntax.LangBash)
			if err != nil {
				return "", err
			}
			if text == piece && piece != word {
				text = "'" + piece + "'"
			}
			b.WriteString(text)
		}
		quoted[i] = b.String()
	}
	return strings.Join(quoted, " "), nil
}

// noValue is what a template prints for a missing value and go-task drops.
const noValue = "<no value>"

// pieces cuts a word so that no piece holds "{{" or "<no value>".
func pieces(word string) []string {
	var pieces []string
	start := 0
	for i := 1; i < len(word); i++ {
		if word[i-1] == '{' && word[i] == '{' || word[i-1] == '<' && strings.HasPrefix(word[i-1:], noValue) {
			pieces = append(pieces, word[start:i])
			start = i
		}
	}
	return append(pieces, word[start:])
}

// escapeWords returns the words for CLI_ARGS_LIST, which must stay plain texts. Braces are escaped as
// in a template, for one expansion: a variable made of an element is expanded again.
func escapeWords(words []string) []string {
	escaped := make([]string, len(words))
	for i, word := range words {
		escaped[i] = strings.ReplaceAll(word, "{{", "{{`{{`}}")
	}
	return escaped
}
