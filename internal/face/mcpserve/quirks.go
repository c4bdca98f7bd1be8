package mcpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// quirk is a parameter that a client adds to all calls, whatever the schema.
type quirk struct {
	name   string
	values []string // its JSON values
	client string
}

// quirks are the known ones. Other unknown parameters stay errors.
var quirks = []quirk{
	{"wait_for_previous", []string{"true", "false"}, "Gemini CLI"},
}

// withoutQuirks removes the client's additions from a tool's arguments.
func (s *Server) withoutQuirks(ctx context.Context, name string, def *tool.Definition,
	arguments json.RawMessage) json.RawMessage {
	for _, q := range quirks {
		if !bytes.Contains(arguments, []byte(q.name)) || def == nil || hasParameter(def, q.name) {
			continue
		}
		if kept, found := q.cut(arguments); found {
			arguments = kept
			s.options.Logger.DebugContext(ctx, "a parameter that the client added is left out",
				slog.String("tool", name), slog.String("parameter", q.name), slog.String("client", q.client))
		}
	}
	return arguments
}

func hasParameter(def *tool.Definition, name string) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(def.Parameters, &schema)
	_, has := schema.Properties[name]
	return has
}

// cut removes the quirk's member from a JSON object and keeps all else as written, even duplicate keys.
func (q quirk) cut(object json.RawMessage) (kept json.RawMessage, found bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return object, false
	}
	kept = append(kept, '{')
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return object, false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return object, false
		}
		if key == q.name && q.is(value) {
			found = true
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, tool.MustMarshal(key)...), ':'), value...)
	}
	return append(kept, '}'), found
}

func (q quirk) is(value json.RawMessage) bool {
	for _, v := range q.values {
		if string(value) == v {
			return true
		}
	}
	return false
}

// needsText reports whether the client cannot send forms with an empty optional text: Codex, up to
// 0.169 at least.
func (in *requestInfo) needsText() bool {
	params := in.session.InitializeParams()
	return params != nil && params.ClientInfo != nil && strings.HasPrefix(params.ClientInfo.Name, "codex")
}
