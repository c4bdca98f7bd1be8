package conformance

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/plugintest"
)

// services is a host that answers everything.
type services struct{ *plugintest.Host }

func newServices() *services {
	return &services{&plugintest.Host{
		OnSample: func(tool.SampleRequest) (*tool.SampleResponse, error) {
			return &tool.SampleResponse{Text: "an answer", Model: "conformance"}, nil
		},
		OnCallTool: func(string, json.RawMessage) (*tool.Result, error) { return tool.Text("a result"), nil },
	}}
}

// Ask accepts, with the form's defaults.
func (s *services) Ask(_ context.Context, _ string, form tool.Form) (tool.Answer, error) {
	return tool.Answer{Action: "accept", Content: fill(form.Schema)}, nil
}

func fill(raw json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct {
			Type    any               `json:"type"`
			Default json.RawMessage   `json:"default"`
			Enum    []json.RawMessage `json:"enum"`
		} `json:"properties"`
	}
	object := make(map[string]json.RawMessage)
	if json.Unmarshal(raw, &s) != nil {
		return json.RawMessage("{}")
	}
	blank := map[any]string{"string": `"text"`, "boolean": "true", "integer": "1", "number": "1", "array": "[]",
		"object": "{}"}
	for name, p := range s.Properties {
		switch {
		case p.Default != nil:
			object[name] = p.Default
		case len(p.Enum) > 0:
			object[name] = p.Enum[0]
		case blank[p.Type] != "":
			object[name] = json.RawMessage(blank[p.Type])
		}
	}
	return tool.MustMarshal(object)
}
