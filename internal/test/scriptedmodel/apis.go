package scriptedmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

type api struct {
	name  string
	read  func(body []byte) (*request, error)
	write func(*answer)
}

// apiOf returns the API by the path's suffix.
func apiOf(path string) (api, bool) {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return api{"messages", readMessages, writeMessages}, true
	case strings.HasSuffix(path, "/responses"):
		return api{"responses", readResponses, writeResponses}, true
	case strings.HasSuffix(path, "/chat/completions"):
		return api{"chat", readChat, writeChat}, true
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return api{"gemini", readGemini, writeGemini}, true
	}
	return api{}, false
}

type answer struct {
	w       http.ResponseWriter
	request *request
	reply   reply
}

type fields = map[string]any

func (a *answer) calls() bool { return a.reply.tool.name != "" }

func (a *answer) id(kind string) string { return fmt.Sprintf("%s_%d", kind, a.request.number) }

func (a *answer) whole(v any) {
	a.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(a.w).Encode(v)
}

// event writes one event of a stream; name is empty if the API has none.
func (a *answer) event(name string, v any) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	if name != "" {
		fmt.Fprintf(a.w, "event: %s\n", name)
	}
	line, _ := json.Marshal(v)
	fmt.Fprintf(a.w, "data: %s\n\n", line)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

// flat returns the text of content: a string, parts with texts, or else the JSON itself.
func flat(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return string(content)
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if texts[i] = "[" + p.Type + "]"; p.Text != nil {
			texts[i] = *p.Text
		}
	}
	return strings.Join(texts, "\n")
}
