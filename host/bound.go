package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Bounds of an error, besides a command's output in it. A call's error is sent twice, as text and as data, and
// escaped: far below a mebibyte.
const (
	maxMessage = 64 << 10 // bytes of a message, and of a suggestion
	maxDetails = 128 << 10
	maxDetail  = 8 << 10 // bytes of one text, if there is too much
	maxItems   = 100     // of one list, if there is too much
)

// mostAnswer is the default bound of a foreign tool's answer, in bytes.
const mostAnswer = 1 << 20

// boundedResult truncates the text of a foreign tool to most bytes. Data cannot be truncated and is an error;
// images and the like stay.
func boundedResult(r *tool.Result, most int64) *tool.Result {
	const next = "Ask for less in one call, or raise output in the limits block of agent.hcl."
	var size int64
	for _, c := range r.Contents {
		size += int64(len(c.Text))
	}
	if size <= most && int64(len(r.Structured)) <= most {
		return r
	}
	short := *r
	short.Truncated = true
	if size > most {
		short.Contents = cutContents(r.Contents, most)
		short.Contents = append(short.Contents, tool.Content{
			Kind: tool.KindText, Text: fmt.Sprintf(
				"[%d of %d bytes are shown, which is the most that a tool may say. %s]", most, size, next),
		})
	}
	if n := len(r.Structured); int64(n) > most {
		short.Structured = nil
		if short.Failed == nil {
			short.Failed = tool.Errorf(tool.TooLarge, "the result has %d bytes of data, and a tool may give %d", n,
				most).Suggest(next)
			short.Contents = append(slices.Clip(short.Contents),
				tool.Content{Kind: tool.KindText, Text: short.Failed.Message + "\n" + next})
		}
	}
	return &short
}

// cutContents keeps the first texts, most bytes together.
func cutContents(all []tool.Content, most int64) (kept []tool.Content) {
	for _, c := range all {
		text := c.Text
		c.Text = truncate.Head(text, int(most))
		if most -= int64(len(c.Text)); text == "" || c.Text != "" {
			kept = append(kept, c)
		}
		if len(c.Text) < len(text) {
			most = 0
		}
	}
	return kept
}

// bounded shortens an error, which may repeat megabytes of a request. A message may have the output besides.
func bounded(e *tool.Error) *tool.Error {
	most, rest := maxMessage, maps.Clone(e.Details)
	maps.DeleteFunc(rest, func(key string, value any) bool {
		if text, ok := value.(string); ok && isOutput(key) {
			most += len(text)
		}
		return isOutput(key)
	})
	data, err := json.Marshal(rest)
	if len(e.Message) <= most && len(e.Suggestion) <= maxMessage && err == nil && len(data) <= maxDetails {
		return e
	}
	short := *e
	short.Message, short.Suggestion = cut(e.Message, most), cut(e.Suggestion, maxMessage)
	if err == nil && len(data) > maxDetails {
		short.Details = make(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(e.Details))[:min(len(e.Details), maxItems)] {
			if value := e.Details[key]; isOutput(key) {
				short.Details[key] = value
			} else {
				short.Details[cut(key, maxDetail)] = cutValue(value)
			}
		}
	}
	return &short
}

// isOutput reports whether a detail is a command's output, which the configured limit already bounds.
func isOutput(key string) bool { return key == "stdout" || key == "stderr" }

// cut keeps the beginning of a text and says how much is missing.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := truncate.Head(text, limit)
	return fmt.Sprintf("%s[... %d bytes left out]", head, len(text)-len(head))
}

func cutValue(value any) any {
	data, err := json.Marshal(value)
	if err != nil || len(data) <= maxDetail {
		return value
	}
	if text, ok := value.(string); ok && utf8.ValidString(text) {
		return cut(text, maxDetail)
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return cut(string(data), maxDetail)
	}
	kept, size := 0, 0
	for kept < min(len(list), maxItems) && size+len(list[kept]) <= maxDetail {
		size += len(list[kept])
		kept++
	}
	return append(slices.Clone(list[:kept]), tool.MustMarshal(fmt.Sprintf("%d more", len(list)-kept)))
}
