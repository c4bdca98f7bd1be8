// Command toolhost-plugin-wordcount is a toolhost plugin with one tool.
package main

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/plugins/sdk"
)

type input struct {
	Text string `json:"text" jsonschema:"The text to count in."`
	Word string `json:"word,omitempty" jsonschema:"Count only this word; letter case does not matter."`
}

type output struct {
	Words int `json:"words" jsonschema:"How many words there are."`
}

func countWords(_ context.Context, _ *sdk.Call, in input) (output, error) {
	if strings.ContainsAny(in.Word, " \t\n") {
		return output{}, sdk.Errorf(sdk.InvalidArgument, "%q is more than one word",
			in.Word).Suggest("Count one word at a time.")
	}
	var out output
	for _, word := range strings.Fields(in.Text) {
		if in.Word == "" || strings.EqualFold(word, in.Word) {
			out.Words++
		}
	}
	return out, nil
}

func plugin() sdk.Plugin {
	return sdk.Plugin{Name: "wordcount", Version: "1.0.0", Tools: []sdk.Tool{sdk.Func(sdk.Definition{
		Name:        "count_words",
		Description: "Count the words of a text, or how often one word is in it. Returns: an object with the number, words.",
		Risk:        sdk.ReadOnly,
		Idempotent:  true,
		Examples:    []sdk.Example{{Params: []byte(`{"text":"to be or not to be","word":"to"}`)}},
	}, countWords)}}
}

func main() { sdk.Serve(plugin()) }
