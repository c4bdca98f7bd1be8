package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Limits of one event: a text over maxText is truncated, and fields that still exceed maxLine together are left
// out.
const (
	maxText = 16 << 10
	maxLine = 512 << 10
)

// timeFormat is RFC 3339 in UTC, always with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// Kept is a payload with more for the record than its event shows.
type Kept interface {
	// Kept returns the request id of the event's call, the event's fields, further fields, and content to keep
	// whole, with its name: "params" or "result". All but the event may be empty.
	Kept() (call string, event, more any, name string, content any)
}

// fields returns the redacted fields of an event as an object.
func fields(redactor *redact.Redactor, event string, payload any) (json.RawMessage, error) {
	data, err := marshal(payload)
	if err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "the payload of event %q is not valid JSON: %w", event, err).
			Suggest("Emit values that encoding/json can encode.")
	}
	members := payloadFields(redactor.Rewrite(data, maxText))
	if len(members) > maxLine {
		members = []byte(`"payload_bytes_left_out":` + strconv.Itoa(len(data)))
	}
	if len(members) == 0 {
		return nil, nil
	}
	return append(append([]byte{'{'}, members...), '}'), nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func marshalText(s string) []byte { return appendMarshaled(nil, s) }

func appendMarshaled(line []byte, s string) []byte {
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
		return append(line, tool.MustMarshal(s)...)
	}
	return append(append(append(line, '"'), s...), '"')
}

// cutTexts truncates redacted content for an event.
func cutTexts(content json.RawMessage) []byte {
	data := (*redact.Redactor)(nil).Rewrite(content, maxText)
	if len(data) > maxLine {
		return []byte(`{"payload_bytes_left_out":` + strconv.Itoa(len(content)) + `}`)
	}
	return data
}

// payloadFields returns the members of an object payload without its braces, and any other payload as the
// member "payload", also one with a member named like the event's own.
func payloadFields(data []byte) []byte {
	if bytes.Equal(data, []byte("null")) || bytes.Equal(data, []byte("{}")) {
		return nil
	}
	if data[0] != '{' || hasOwnField(data) {
		return append([]byte(`"payload":`), data...)
	}
	return data[1 : len(data)-1]
}

func hasOwnField(object []byte) bool {
	if !bytes.Contains(object, []byte(`"event":`)) && !bytes.Contains(object, []byte(`"timestamp":`)) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return true
	}
	_, event := members["event"]
	_, timestamp := members["timestamp"]
	return event || timestamp
}
