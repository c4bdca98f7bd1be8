package record

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/toolhost/toolhost/host/tool"
)

// Bounds of one event: a text beyond maxText is cut, and a line that is beyond
// maxLine all the same loses its payload.
const (
	maxText = 16 << 10
	maxLine = 512 << 10
)

// timeFormat is RFC 3339 in UTC, always with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// encode makes the line of an event, newline included.
func (r *Recorder) encode(event string, payload any) ([]byte, error) {
	redactor := r.redactor.Load()
	data, err := marshal(payload)
	if err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "the payload of event %q is no JSON: %w", event, err).
			Suggest("Emit values that encoding/json can encode.")
	}
	fields := payloadFields(redactor.Rewrite(data, maxText))
	if len(fields) > maxLine {
		fields = []byte(`"payload_bytes_left_out":` + strconv.Itoa(len(data)))
	}
	var line bytes.Buffer
	line.WriteString(`{"event":`)
	line.Write(redactor.Rewrite(tool.MustMarshal(event), maxText))
	line.WriteString(`,"timestamp":"`)
	line.WriteString(r.options.Now().UTC().Format(timeFormat))
	line.WriteByte('"')
	if len(fields) > 0 {
		line.WriteByte(',')
		line.Write(fields)
	}
	line.WriteString("}\n")
	return line.Bytes(), nil
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
