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
			sdk.Func(sdk.Definition{
				Name: "greet", Risk: sdk.ReadOnly, Description: "Greets at once. Returns: the greeting.",
			}, greet),
			sdk.Func(sdk.Definition{
				Name: "slow_compute", Risk: sdk.ReadOnly, Description: "Takes so many seconds. Returns: that it is done.",
			}, slowCompute),
			sdk.Func(sdk.Definition{
				Name: "multi_input", Risk: sdk.ReadOnly,
				Description: "Asks two things at once after a second. Returns: both answers.",
			}, multiInput),
			sdk.Func(sdk.Definition{
				Name: "protocol_error_job", Risk: sdk.ReadOnly, Description: "Panics after a second. Returns: nothing.",
			}, protocolErrorJob),
			sdk.Func(sdk.Definition{
				Name: "confirm_delete", Risk: sdk.ReadOnly, Description: "Asks after a second. Returns: what it would do.",
			}, confirmDelete),
			sdk.Func(sdk.Definition{
				Name: "test_tool_with_task", Risk: sdk.ReadOnly,
				Description: "Asks at once, and then takes a second. Returns: the answer.",
			}, askThenWork),
		}}
}

func main() { sdk.Serve(plugin()) }
