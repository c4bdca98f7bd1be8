package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

type entry struct {
	N         int64           `json:"n"`
	Workspace string          `json:"workspace,omitempty"` // only in a segment's first entry
	At        string          `json:"at"`
	Session   string          `json:"session,omitempty"`
	Run       string          `json:"run,omitempty"` // the operator's directory for copies
	Of        int64           `json:"of,omitempty"`  // first entry of the call
	By        string          `json:"by,omitempty"`  // the process, if a call begins
	Event     string          `json:"event"`
	Body      json.RawMessage `json:"body,omitempty"`
	More      json.RawMessage `json:"more,omitempty"`
	Holds     string          `json:"holds,omitempty"` // the name of the content
	Content   json.RawMessage `json:"content,omitempty"`
	Blob      *blob           `json:"blob,omitempty"`   // in place of Content
	Stored    int64           `json:"stored,omitempty"` // size of the segment's objects, in bytes
}

// blob refers to the content of an entry among its segment's objects, by the hash of the content.
type blob struct {
	Hash  string `json:"sha256"`
	Bytes int64  `json:"bytes"`
}

var errLine = errors.New("the line is not an entry")

// format returns the line of an entry. Its content is JSON already, which encoding/json would parse again.
func (e *entry) format() []byte {
	line := make([]byte, 0, 512+len(e.Body)+len(e.More)+len(e.Content))
	line = strconv.AppendInt(append(line, `{"n":`...), e.N, 10)
	line = appendText(line, "workspace", e.Workspace)
	line = appendMarshaled(append(line, `,"at":`...), e.At)
	line = appendText(line, "session", e.Session)
	line = appendText(line, "run", e.Run)
	if e.Of != 0 {
		line = strconv.AppendInt(append(line, `,"of":`...), e.Of, 10)
	}
	line = appendText(line, "by", e.By)
	line = appendMarshaled(append(line, `,"event":`...), e.Event)
	line = appendJSON(line, "body", e.Body)
	line = appendJSON(line, "more", e.More)
	line = appendText(line, "holds", e.Holds)
	line = appendJSON(line, "content", e.Content)
	if e.Blob != nil {
		line = appendJSON(line, "blob", tool.MustMarshal(e.Blob))
	}
	if e.Stored != 0 {
		line = strconv.AppendInt(append(line, `,"stored":`...), e.Stored, 10)
	}
	return append(line, '}', '\n')
}

// appendText appends a member unless it is empty.
func appendText(line []byte, name, value string) []byte {
	if value == "" {
		return line
	}
	return appendMarshaled(append(append(append(line, `,"`...), name...), `":`...), value)
}

func appendJSON(line []byte, name string, value []byte) []byte {
	if len(value) == 0 {
		return line
	}
	line = append(append(append(line, `,"`...), name...), `":`...)
	return append(line, value...)
}

func readEntry(line []byte) (e entry, err error) {
	if err := json.Unmarshal(line, &e); err != nil || e.N <= 0 || e.Event == "" {
		return e, errors.Join(errLine, err)
	}
	return e, nil
}

// header is the beginning of a line, parsed without the rest.
type header struct {
	n, of   int64
	session string
	run     string
	at      string
	event   string
}

// readHeader parses the beginning of a line. Texts in it contain no plain quote, so that a member follows one.
func readHeader(line []byte) (h header, ok bool) {
	if !bytes.HasPrefix(line, []byte(`{"n":`)) || !bytes.HasSuffix(line, []byte("}\n")) {
		return h, false
	}
	at := bytes.Index(line, []byte(`,"event":"`))
	if at < 0 {
		return h, false
	}
	start, rest := line[len(`{"n":`):at], line[at+len(`,"event":"`):]
	end := bytes.IndexByte(rest, '"')
	number, _, _ := bytes.Cut(start, []byte(","))
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n <= 0 || end < 0 {
		return h, false
	}
	h = header{n: n, event: string(rest[:end]), at: member(start, `,"at":"`), session: member(start, `,"session":"`)}
	if run := member(start, `,"run":"`); run != "" && json.Unmarshal([]byte(`"`+run+`"`), &h.run) != nil {
		return h, false
	}
	if _, of, ok := bytes.Cut(start, []byte(`,"of":`)); ok {
		of, _, _ = bytes.Cut(of, []byte(","))
		h.of, _ = strconv.ParseInt(string(of), 10, 64)
	}
	return h, true
}

// member returns a text among the members of a header, as written.
func member(start []byte, name string) string {
	_, rest, ok := bytes.Cut(start, []byte(name))
	if !ok {
		return ""
	}
	for end := 0; end < len(rest); end++ {
		switch rest[end] {
		case '\\':
			end++
		case '"':
			return string(rest[:end])
		}
	}
	return ""
}

// call returns the first entry of an entry's call, 0 without a call.
func (h *header) call() int64 {
	if h.of == 0 && h.event == startedEvent {
		return h.n
	}
	return h.of
}

func (e *entry) time() time.Time {
	t, _ := time.Parse(timeFormat, e.At)
	return t
}

// line returns the entry as an event: the fields of its body, and the parameters of a call that begins, with long texts
// truncated.
func (e *entry) line(content json.RawMessage, withMore bool) []byte {
	var out bytes.Buffer
	out.WriteString(`{"event":`)
	out.Write(marshalText(e.Event))
	out.WriteString(`,"timestamp":"` + e.At + `"`)
	member := func(fields []byte) {
		if len(fields) > 0 {
			out.WriteByte(',')
			out.Write(fields)
		}
	}
	member(inside(e.Body))
	if e.Holds == shown && content != nil {
		member(append([]byte(`"`+shown+`":`), cutTexts(content)...))
	}
	if withMore {
		member(inside(e.More))
	}
	out.WriteByte('}')
	return out.Bytes()
}

// shown is the content included in an event's line.
const shown = "params"

func inside(object json.RawMessage) []byte {
	if len(object) < 2 {
		return nil
	}
	return object[1 : len(object)-1]
}
