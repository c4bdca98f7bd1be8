package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Bounds of one event: a text beyond maxText is cut, and fields that are beyond
// maxLine together all the same are left out.
const (
	maxText = 16 << 10
	maxLine = 512 << 10
)

// timeFormat is RFC 3339 in UTC, always with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// Kept is a payload that has more for the record than the line of its event
// shows.
type Kept interface {
	// Kept gives the request id of the call that the event belongs to, the event's
	// fields without the rest, further fields, and what is kept whole, under its
	// name: "params" or "result". What comes after the event may be nothing.
	Kept() (call string, event, more any, name string, content any)
}

// fields gives the fields of an event as an object, without secrets.
func fields(redactor *redact.Redactor, event string, payload any) (json.RawMessage, error) {
	data, err := marshal(payload)
	if err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "the payload of event %q is no JSON: %w", event, err).
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

// marshal gives v as JSON on one line.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// marshalText gives s as JSON, and appendMarshaled adds it to line.
func marshalText(s string) []byte { return appendMarshaled(nil, s) }

func appendMarshaled(line []byte, s string) []byte {
	if strings.ContainsFunc(s, needsEscape) {
		return append(line, tool.MustMarshal(s)...)
	}
	return append(append(append(line, '"'), s...), '"')
}

func needsEscape(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }

// cutTexts is content as an event shows it. It has been redacted.
func cutTexts(content json.RawMessage) []byte {
	data := (*redact.Redactor)(nil).Rewrite(content, maxText)
	if len(data) > maxLine {
		return []byte(`{"payload_bytes_left_out":` + strconv.Itoa(len(content)) + `}`)
	}
	return data
}

// payloadFields gives the members of an object payload without its braces,
// and any other payload as the one member "payload". A payload that has a
// member of the event's own is nested too.
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
