package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

type hello struct{}

func (hello) Definition() *tool.Definition {
	return &tool.Definition{
		Name: "hello", Description: "Greet somebody. Returns: the greeting.", Risk: tool.ReadOnly,
		Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}
}

func (hello) Call(_ context.Context, call *tool.Call) (*tool.Result, error) {
	var in struct{ Name string }
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	return tool.Textf("Hello, %s!", in.Name), nil
}

// A program can embed a host with the tools it wants to offer.
func Example() {
	dir, _ := os.Getwd()
	h, err := host.New(context.Background(), host.Options{
		Root:    dir,
		Sources: []host.Source{host.Tools("mine", hello{})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := h.Session("main").Call(context.Background(),
		host.Request{Tool: "hello", Params: json.RawMessage(`{"name":"world"}`)})
	fmt.Println(out.Result.Text())
	// Output: Hello, world!
}
