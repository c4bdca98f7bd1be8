package main

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/plugins/sdk"
)

// The tools of the suite's scenarios about tasks. A call that takes longer than
// serve --task-after becomes one.

// long is how long a call takes that is to become a task.
const long = time.Second

// work takes its time, unless the call is cancelled.
func work(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type person struct {
	Name string `json:"name" jsonschema:"Whom to greet."`
}

func greet(_ context.Context, _ *sdk.Call, in person) (*sdk.Result, error) {
	return sdk.Text("Hello, " + in.Name + "!"), nil
}

type effort struct {
	Seconds float64 `json:"seconds" jsonschema:"How long it takes."`
	Label   string  `json:"label,omitempty" jsonschema:"A name for it."`
}

func slowCompute(ctx context.Context, _ *sdk.Call, in effort) (*sdk.Result, error) {
	if err := work(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return nil, err
	}
	return sdk.Text(fmt.Sprintf("%s is done after %v seconds.", in.Label, in.Seconds)), nil
}

func multiInput(ctx context.Context, call *sdk.Call, _ nothing) (*sdk.Result, error) {
	if err := work(ctx, long); err != nil {
		return nil, err
	}
	form := func(key, message, field, kind string) sdk.Question {
		schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, field, kind, field)
		return sdk.Question{Key: key, Form: sdk.Form{Message: message, Schema: []byte(schema)}}
	}
	answers, err := call.AskAll(ctx, form("name", "What is your name?", "name", "string"),
		form("confirm", "Go on?", "confirm", "boolean"))
	if err != nil {
		return nil, err
	}
	return sdk.Text(fmt.Sprintf("The name: %s. Going on: %s.", answers["name"].Content, answers["confirm"].Content)), nil
}

func protocolErrorJob(ctx context.Context, _ *sdk.Call, _ nothing) (*sdk.Result, error) {
	if err := work(ctx, long); err != nil {
		return nil, err
	}
	panic("the job has a fault")
}

type file struct {
	Filename string `json:"filename" jsonschema:"The file to delete."`
}

func confirmDelete(ctx context.Context, call *sdk.Call, in file) (*sdk.Result, error) {
	if err := work(ctx, long); err != nil {
		return nil, err
	}
	answer, err := call.Ask(ctx, "confirm", sdk.Form{Message: "Delete " + in.Filename + "?",
		Schema: []byte(`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)})
	if err != nil {
		return nil, err
	}
	return sdk.Text(fmt.Sprintf("Deleting %s was answered with %s.", in.Filename, answer.Action)), nil
}

func askThenWork(ctx context.Context, call *sdk.Call, _ nothing) (*sdk.Result, error) {
	name, err := ask(ctx, call, "user_name", "What is your name?", "name")
	if err != nil {
		return nil, err
	}
	if err := work(ctx, long); err != nil {
		return nil, err
	}
	return sdk.Text("Hello, " + name + "!"), nil
}
