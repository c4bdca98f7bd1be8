package scriptedmodel

import (
	"encoding/json"
	"fmt"
)

func readChat(body []byte) (*request, error) {
	var in struct {
		Model  string
		Stream bool
		Tools  []struct{ Function struct{ Name string } }
		// Messages of the role tool are results.
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &request{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		r.tools = append(r.tools, offer{name: t.Function.Name})
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "tool":
			r.results = append(r.results, result{id: m.ToolCallID, text: flat(m.Content)})
		case "assistant":
			r.said = append(r.said, flat(m.Content))
		}
	}
	return r, nil
}

func writeChat(a *answer) {
	message, stop := fields{"role": "assistant", "content": a.reply.text}, "stop"
	if a.calls() {
		call := fields{"index": 0, "id": a.reply.id, "type": "function",
			"function": fields{"name": a.reply.tool.name, "arguments": string(a.reply.arguments)}}
		message, stop = fields{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	usage := fields{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
	whole := func(kind string, choices ...any) fields {
		if choices == nil {
			choices = []any{}
		}
		return fields{"id": a.id("chatcmpl"), "object": kind, "created": 1, "model": a.request.model,
			"choices": choices}
	}
	if !a.request.stream {
		out := whole("chat.completion", fields{"index": 0, "message": message, "finish_reason": stop})
		out["usage"] = usage
		a.whole(out)
		return
	}
	a.event("", whole("chat.completion.chunk", fields{"index": 0, "delta": message, "finish_reason": nil}))
	a.event("", whole("chat.completion.chunk", fields{"index": 0, "delta": fields{}, "finish_reason": stop}))
	last := whole("chat.completion.chunk")
	last["usage"] = usage
	a.event("", last)
	fmt.Fprint(a.w, "data: [DONE]\n\n")
}

func readResponses(body []byte) (*request, error) {
	type function struct{ Type, Name string }
	var in struct {
		Model  string
		Stream bool
		Tools  []struct {
			function
			Tools []function // of a namespace
		}
		Input json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &request{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		if t.Type == "function" {
			r.tools = append(r.tools, offer{name: t.Name})
		}
		for _, inner := range t.Tools {
			r.tools = append(r.tools, offer{namespace: t.Name, name: inner.Name})
		}
	}
	var items []struct {
		Type, Role string
		CallID     string `json:"call_id"`
		Output     json.RawMessage
		Content    json.RawMessage
	}
	_ = json.Unmarshal(in.Input, &items) // or a text
	for _, item := range items {
		switch {
		case item.Type == "function_call_output":
			r.results = append(r.results, result{id: item.CallID, text: flat(item.Output)})
		case item.Role == "assistant":
			r.said = append(r.said, flat(item.Content))
		}
	}
	return r, nil
}

type responseStream struct {
	*answer
	count int
}

func (s *responseStream) send(kind string, more fields) {
	more["type"], more["sequence_number"] = kind, s.count
	s.count++
	s.event(kind, more)
}

func writeResponses(a *answer) {
	item := a.responseItem()
	response := fields{
		"id": a.id("resp"), "object": "response", "created_at": 1, "status": "in_progress", "model": a.request.model,
		"output": []any{},
		"error":  nil, "incomplete_details": nil, "instructions": nil, "metadata": fields{},
		"parallel_tool_calls": true,
		"tool_choice":         "auto", "tools": []any{}, "temperature": 1, "top_p": 1,
	}
	done := fields{}
	for k, v := range response {
		done[k] = v
	}
	done["status"], done["output"] = "completed", []any{item}
	done["usage"] = fields{
		"input_tokens": 100, "input_tokens_details": fields{"cached_tokens": 0},
		"output_tokens": 10, "output_tokens_details": fields{"reasoning_tokens": 0}, "total_tokens": 110,
	}
	if !a.request.stream {
		a.whole(done)
		return
	}
	s := &responseStream{answer: a}
	s.send("response.created", fields{"response": response})
	s.send("response.in_progress", fields{"response": response})
	s.item(item)
	s.send("response.completed", fields{"response": done})
}

func (a *answer) responseItem() fields {
	if !a.calls() {
		part := fields{"type": "output_text", "text": a.reply.text, "annotations": []any{}}
		return fields{"type": "message", "id": a.id("msg"), "role": "assistant", "status": "completed",
			"content": []any{part}}
	}
	item := fields{
		"type": "function_call", "id": a.id("fc"), "call_id": a.reply.id, "name": a.reply.tool.name,
		"arguments": string(a.reply.arguments), "status": "completed",
	}
	if a.reply.tool.namespace != "" {
		item["namespace"] = a.reply.tool.namespace
	}
	return item
}

// item streams a response's only item.
func (s *responseStream) item(item fields) {
	empty := fields{}
	for k, v := range item {
		empty[k] = v
	}
	empty["status"] = "in_progress"
	at := func(more fields) fields {
		more["output_index"], more["item_id"] = 0, item["id"]
		return more
	}
	if s.calls() {
		empty["arguments"] = ""
		s.send("response.output_item.added", at(fields{"item": empty}))
		s.send("response.function_call_arguments.delta", at(fields{"delta": item["arguments"]}))
		s.send("response.function_call_arguments.done",
			at(fields{"arguments": item["arguments"], "name": item["name"]}))
	} else {
		empty["content"] = []any{}
		text := s.reply.text
		part := func(text string) fields { return fields{"type": "output_text", "text": text, "annotations": []any{}} }
		s.send("response.output_item.added", at(fields{"item": empty}))
		s.send("response.content_part.added", at(fields{"content_index": 0, "part": part("")}))
		s.send("response.output_text.delta", at(fields{"content_index": 0, "delta": text, "logprobs": []any{}}))
		s.send("response.output_text.done", at(fields{"content_index": 0, "text": text, "logprobs": []any{}}))
		s.send("response.content_part.done", at(fields{"content_index": 0, "part": part(text)}))
	}
	s.send("response.output_item.done", at(fields{"item": item}))
}
