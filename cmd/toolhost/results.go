package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

var resultForms = map[string]func(*host.Outcome) any{"anthropic": toolResultBlock, "openai": functionOutput}

// toolResultBlock returns a tool_result block of the Messages API.
func toolResultBlock(o *host.Outcome) any {
	type source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	}
	type block struct {
		Type   string  `json:"type"`
		Text   string  `json:"text,omitempty"`
		Source *source `json:"source,omitempty"`
	}
	content := []block{}
	for _, c := range contentsOf(o) {
		if c.Kind == tool.KindImage {
			content = append(content, block{Type: "image", Source: &source{"base64", c.MIMEType, c.Data}})
		} else if c.Text != "" {
			content = append(content, block{Type: "text", Text: c.Text})
		}
	}
	return struct {
		Type    string  `json:"type"`
		ID      string  `json:"tool_use_id"`
		Content []block `json:"content"`
		IsError bool    `json:"is_error,omitempty"`
	}{"tool_result", o.RequestID, content, o.Err != nil}
}

// functionOutput returns the Responses API's item for a call: of its own tools shell and apply_patch,
// or of a function.
func functionOutput(o *host.Outcome) any {
	var texts []string
	for _, c := range contentsOf(o) {
		if c.Kind == tool.KindImage {
			texts = append(texts, "data:"+c.MIMEType+";base64,"+base64.StdEncoding.EncodeToString(c.Data))
		} else {
			texts = append(texts, c.Text)
		}
	}
	type item struct {
		Type   string `json:"type"`
		ID     string `json:"call_id"`
		Status string `json:"status,omitempty"`
		Output any    `json:"output"`
	}
	text := strings.Join(texts, "\n")
	switch {
	case o.Tool == "shell" && o.Err == nil:
		return item{"shell_call_output", o.RequestID, "", json.RawMessage(text)}
	case o.Tool == "apply_patch" && o.Err == nil:
		return item{"apply_patch_call_output", o.RequestID, "completed", text}
	case o.Tool == "apply_patch":
		return item{"apply_patch_call_output", o.RequestID, "failed", text}
	}
	return item{"function_call_output", o.RequestID, "", text}
}

// contentsOf returns a result's contents, or an error's text.
func contentsOf(o *host.Outcome) []tool.Content {
	if o.Result != nil {
		return o.Result.Contents
	}
	if o.Err != nil {
		return []tool.Content{{Kind: tool.KindText, Text: strings.TrimSpace(o.Err.Message + "\n" + o.Err.Suggestion)}}
	}
	return nil
}
