package main

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// go-task treats the values of variables as templates, the arguments among
// them, and does so again wherever one variable is made of another. A word
// such as {{"'; rm x; '"}} would so break out of its quotes. Nor does "<no
// value>" survive: it is taken out, which can put braces side by side. So
// the two never reach a value as they are.

// quoteWords gives the words as one shell text, for CLI_ARGS. Where a word has
// template braces, the text puts them apart by quotes, which the shell joins
// again: no template is in it however often it is read as one.
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

// escapeWords gives the words for CLI_ARGS_LIST, which must stay plain texts.
// Braces are escaped as a template writes them, once: a Taskfile that makes
// another variable of an element has that one read as a template again.
func escapeWords(words []string) []string {
	escaped := make([]string, len(words))
	for i, word := range words {
		escaped[i] = strings.ReplaceAll(word, "{{", "{{`{{`}}")
	}
	return escaped
}
