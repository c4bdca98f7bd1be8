// Command toolhost-plugin-conformance holds what the MCP conformance suite
// looks for and agent.hcl cannot say: a second question that comes after the
// first answer, and a model that is asked by a tool's own code.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/plugins/sdk"
)

type nothing struct{}

// ask asks the user for one field and gives what was typed.
func ask(ctx context.Context, call *sdk.Call, key, question, field string) (string, error) {
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, field, field)
	answer, err := call.Ask(ctx, key, sdk.Form{Message: question, Schema: json.RawMessage(schema)})
	if err != nil {
		return "", err
	}
	if !answer.Accepted() {
		return "", sdk.Errorf(sdk.Denied, "the user did not answer %q",
			question).Suggest("Call again when the user wants to.")
	}
	var content map[string]string
	if err := json.Unmarshal(answer.Content, &content); err != nil {
		return "", err
	}
	return content[field], nil
}

func multiRound(ctx context.Context, call *sdk.Call, _ nothing) (*sdk.Result, error) {
	name, err := ask(ctx, call, "step1", "Step 1: What is your name?", "name")
	if err != nil {
		return nil, err
	}
	color, err := ask(ctx, call, "step2", "Step 2: What is your favorite color?", "color")
	if err != nil {
		return nil, err
	}
	return sdk.Text(fmt.Sprintf("%s likes %s.", name, color)), nil
}

type prompt struct {
	Prompt string `json:"prompt" jsonschema:"What to ask the model."`
}

func sampling(ctx context.Context, call *sdk.Call, in prompt) (*sdk.Result, error) {
	response, err := call.Sample(ctx, sdk.SampleRequest{Prompt: in.Prompt, MaxTokens: 100})
	if err != nil {
		return nil, err
	}
	return sdk.Text("LLM response: " + response.Text), nil
}

func plugin() sdk.Plugin {
	return sdk.Plugin{Name: "conformance", Version: "1.0.0", Services: []sdk.Service{sdk.ServiceAsk, sdk.ServiceSample},
		Tools: []sdk.Tool{
			sdk.Func(sdk.Definition{
				Name: "test_input_required_result_multi_round", Risk: sdk.ReadOnly,
				Description: "Asks twice. Returns: both answers.",
			}, multiRound),
			sdk.Func(sdk.Definition{
				Name: "test_sampling", Risk: sdk.ReadOnly,
				Description: "Asks the model. Returns: what it says.",
			}, sampling),
		}}
}

func main() { sdk.Serve(plugin()) }
