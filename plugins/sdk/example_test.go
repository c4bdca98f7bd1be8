package sdk_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/sdk"
)

type countInput struct {
	Text string `json:"text" jsonschema:"The text to count in."`
	Word string `json:"word,omitempty" jsonschema:"Count only this word."`
}

type countOutput struct {
	Words int `json:"words" jsonschema:"How many words there are."`
}

func countWords(_ context.Context, _ *sdk.Call, in countInput) (countOutput, error) {
	if strings.Contains(in.Word, " ") {
		return countOutput{}, sdk.Errorf(sdk.InvalidArgument, "%q is more than one word",
			in.Word).Suggest("Count one word at a time.")
	}
	var out countOutput
	for _, word := range strings.Fields(in.Text) {
		if in.Word == "" || in.Word == word {
			out.Words++
		}
	}
	return out, nil
}

// A whole plugin. Its main function is
//
//	func main() { sdk.Serve(plugin()) }
func plugin() sdk.Plugin {
	return sdk.Plugin{Name: "wordcount", Version: "1.0.0", Tools: []sdk.Tool{sdk.Func(sdk.Definition{
		Name:        "count_words",
		Description: "Count the words of a text. Returns: an object with the number, words.",
		Risk:        sdk.ReadOnly,
	}, countWords)}}
}

// Func makes a tool of a function: the schemas of parameters and result come from the two structs.
func ExampleFunc() {
	tool := plugin().Tools[0]
	fmt.Println(string(tool.Definition().Parameters))
	result, err := tool.Call(context.Background(),
		&sdk.Call{Params: []byte(`{"text":"to be or not to be","word":"to"}`)})
	fmt.Println(result.Text(), err)
	_, err = tool.Call(context.Background(), &sdk.Call{Params: []byte(`{"text":"","word":"to be"}`)})
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"text":{"type":"string","description":"The text to count in."},"word":{"type":"string","description":"Count only this word."}},"required":["text"],"additionalProperties":false}
	// {"words":2} <nil>
	// "to be" is more than one word
}
