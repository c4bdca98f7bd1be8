package scriptedmodel

import (
	"encoding/json"
	"fmt"
)

func readMessages(body []byte) (*request, error) {
	var in struct {
		Model  string
		Stream bool
		Tools  []struct {
			Name         string
			DeferLoading bool `json:"defer_loading"`
		}
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &request{model: in.Model, stream: in.Stream}
	referenced := make(map[string]bool)
	for _, message := range in.Messages {
		var blocks []struct {
			Type, Text string
			ToolUseID  string `json:"tool_use_id"`
			IsError    bool   `json:"is_error"`
			Content    json.RawMessage
		}
		if json.Unmarshal(message.Content, &blocks) != nil {
			if message.Role == "assistant" {
				r.said = append(r.said, flat(message.Content))
			}
			continue
		}
		for _, b := range blocks {
			switch {
			case b.Type == "tool_result":
				r.results = append(r.results, result{id: b.ToolUseID, text: flat(b.Content), failed: b.IsError})
				for _, name := range references(b.Content) {
					referenced[name] = true
				}
			case b.Type == "text" && message.Role == "assistant":
				r.said = append(r.said, b.Text)
			}
		}
	}
	for _, t := range in.Tools {
		if !t.DeferLoading || referenced[t.Name] {
			r.tools = append(r.tools, offer{name: t.Name})
		}
	}
	return r, nil
}

func references(content json.RawMessage) (names []string) {
	var parts []struct {
		ToolName string `json:"tool_name"`
	}
	_ = json.Unmarshal(content, &parts)
	for _, p := range parts {
		names = append(names, p.ToolName)
	}
	return names
}

func writeMessages(a *answer) {
	block, empty, delta, stop := fields{"type": "text", "text": a.reply.text}, fields{"type": "text", "text": ""},
		fields{"type": "text_delta", "text": a.reply.text}, "end_turn"
	if a.calls() {
		block = fields{"type": "tool_use", "id": a.reply.id, "name": a.reply.tool.name, "input": a.reply.arguments}
		empty = fields{"type": "tool_use", "id": a.reply.id, "name": a.reply.tool.name, "input": fields{}}
		delta, stop = fields{"type": "input_json_delta", "partial_json": string(a.reply.arguments)}, "tool_use"
	}
	usage := fields{"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": 0}
	message := fields{
		"id": a.id("msg"), "type": "message", "role": "assistant", "model": a.request.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !a.request.stream {
		message["content"], message["stop_reason"] = []any{block}, stop
		a.whole(message)
		return
	}
	for _, e := range []fields{
		{"type": "message_start", "message": message},
		{"type": "content_block_start", "index": 0, "content_block": empty},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": fields{"stop_reason": stop, "stop_sequence": nil}, "usage": usage},
		{"type": "message_stop"},
	} {
		a.event(fmt.Sprint(e["type"]), e)
	}
}
