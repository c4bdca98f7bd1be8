package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// entry is one line of the log.
type entry struct {
	N         int64           `json:"n"`
	Prev      string          `json:"prev,omitempty"`      // of the first in a segment: the hash before it
	Workspace string          `json:"workspace,omitempty"` // the same
	At        string          `json:"at"`
	Session   string          `json:"session,omitempty"`
	Run       string          `json:"run,omitempty"` // the operator's directory for copies
	Of        int64           `json:"of,omitempty"`  // the entry that the call began with
	By        string          `json:"by,omitempty"`  // the process, where a call begins
	Event     string          `json:"event"`
	Body      json.RawMessage `json:"body,omitempty"`
	More      json.RawMessage `json:"more,omitempty"`
	Holds     string          `json:"holds,omitempty"` // the name of the content
	Content   json.RawMessage `json:"content,omitempty"`
	Blob      *blob           `json:"blob,omitempty"` // in place of Content
}

// blob says where the content of an entry lies: in its segment's directory,
// under the hash of what it is.
type blob struct {
	Hash  string `json:"sha256"`
	Bytes int64  `json:"bytes"`
	File  string `json:"file_sha256"` // of the compressed file
}

// hashSize is the size of a hash as it is written.
const hashSize = 2 * sha256.Size

// The end of a line is its hash, which covers the bytes before it and the hash
// of the line before.
var (
	hashOpens  = []byte(`,"hash":"`)
	hashCloses = []byte("\"}\n")
)

const tailSize = 9 + hashSize + 3

var errLine = errors.New("the line is not an entry")

// seal makes the line of an entry, given the hash of the one before. What it
// holds is JSON already, which encoding/json would read through again.
func (e *entry) seal(prev string) (line []byte, hash string) {
	line = make([]byte, 0, 512+len(e.Body)+len(e.More)+len(e.Content))
	line = strconv.AppendInt(append(line, `{"n":`...), e.N, 10)
	line = appendText(line, "prev", e.Prev)
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
	hash = chain(prev, line)
	line = append(line, hashOpens...)
	line = append(line, hash...)
	return append(line, hashCloses...), hash
}

// appendText adds a member to a line, where it is not empty.
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

// chain is the hash of an entry's bytes after prev.
func chain(prev string, data []byte) string {
	sum := sha256.New()
	_, _ = io.WriteString(sum, prev)
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(make([]byte, 0, sha256.Size)))
}

// unseal takes a line apart. The hash is the one that is written there.
func unseal(line []byte) (data []byte, hash string, err error) {
	at := len(line) - tailSize
	if at < 2 || !bytes.HasPrefix(line[at:], hashOpens) || !bytes.HasSuffix(line, hashCloses) {
		return nil, "", errLine
	}
	return line[:at], string(line[at+len(hashOpens) : len(line)-len(hashCloses)]), nil
}

// read makes an entry of a line.
func readEntry(line []byte) (e entry, hash string, err error) {
	data, hash, err := unseal(line)
	if err != nil {
		return e, "", err
	}
	if err := json.Unmarshal(append(data[:len(data):len(data)], '}'), &e); err != nil {
		return e, "", errors.Join(errLine, err)
	}
	return e, hash, nil
}

func (e *entry) time() time.Time {
	t, _ := time.Parse(timeFormat, e.At)
	return t
}

// line is the entry as an event: the fields of its body, and the parameters of a
// call that begins, with long texts cut.
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

// shown is the content that is part of an event's line.
const shown = "params"

func inside(object json.RawMessage) []byte {
	if len(object) < 2 {
		return nil
	}
	return object[1 : len(object)-1]
}
