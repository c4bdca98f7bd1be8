package scriptedmodel

import "encoding/json"

func readGemini(body []byte) (*request, error) {
	var in struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				Thought          bool
				FunctionResponse *struct {
					ID, Name string
					Response json.RawMessage
				}
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &request{model: "scripted"}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			r.tools = append(r.tools, offer{name: f.Name})
		}
	}
	for _, content := range in.Contents {
		for _, part := range content.Parts {
			switch {
			case part.FunctionResponse != nil:
				text, failed := geminiResult(part.FunctionResponse.Response)
				r.results = append(r.results, result{id: part.FunctionResponse.ID, text: text, failed: failed})
			case content.Role == "model" && part.Text != "" && !part.Thought:
				r.said = append(r.said, part.Text)
			}
		}
	}
	return r, nil
}

// geminiResult returns the text of a function's response, an object in which
// output and error have a meaning.
func geminiResult(response json.RawMessage) (text string, failed bool) {
	var known struct{ Output, Error json.RawMessage }
	_ = json.Unmarshal(response, &known)
	switch {
	case known.Error != nil:
		return flat(known.Error), true
	case known.Output != nil:
		return flat(known.Output), false
	}
	return string(response), false
}

func writeGemini(a *answer) {
	part := fields{"text": a.reply.text}
	if a.calls() {
		part = fields{"functionCall": fields{"id": a.reply.id, "name": a.reply.tool.name, "args": a.reply.arguments}}
	}
	out := fields{
		"candidates": []any{fields{"index": 0, "finishReason": "STOP",
			"content": fields{"role": "model", "parts": []any{part}}}},
		"usageMetadata": fields{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
		"modelVersion":  "scripted", "responseId": a.id("resp"),
	}
	if a.request.stream {
		a.event("", out)
		return
	}
	a.whole(out)
}
