package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Redactor removes secrets from texts. A nil Redactor changes nothing. It is safe for concurrent use.
type Redactor struct {
	values *values
	shapes bool
}

// minMargin exceeds what it takes to recognize a token.
const minMargin = 1 << 10

// maxEscape is how many bytes an escaped one may have.
const maxEscape = 8

// New returns a redactor for the values, nil if no value has at least four bytes.
func New(secrets []string) *Redactor {
	if v := newValues(secrets); v != nil {
		return &Redactor{values: v}
	}
	return nil
}

// WithShapes returns a redactor that also recognizes the shapes of tokens.
func WithShapes(secrets []string) *Redactor {
	return &Redactor{values: newValues(secrets), shapes: true}
}

// String returns s without secrets.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	s = r.values.replace(s)
	if r.shapes && mayHoldToken(s) {
		s = tokens().ReplaceAllString(s, "${keep}${user}"+Mark+"${at}")
	}
	return s
}

// JSON returns valid JSON without secrets: every string and number in it is redacted by [Redactor.String]. With
// shapes, strings under names such as "password" are redacted whole.
func (r *Redactor) JSON(data json.RawMessage) json.RawMessage {
	if r == nil {
		return data
	}
	return r.Rewrite(data, 0)
}

// Rewrite is [Redactor.JSON] with strings longer than limit truncated; limit 0 truncates none. Order and layout
// stay. If nothing changes it returns data itself.
func (r *Redactor) Rewrite(data []byte, limit int) []byte {
	if r.plain(data, limit) && (r == nil || !r.shapes || !hasSecretName(data)) {
		return data
	}
	var out bytes.Buffer
	out.Grow(len(data))
	secret := false
	for len(data) > 0 {
		start := bytes.IndexByte(data, '"')
		if start < 0 {
			break
		}
		out.Write(r.numbers(data[:start]))
		text, rest, isName := nextString(data[start:])
		isValue := secret && len(bytes.Trim(data[:start], ": \t\r\n")) == 0
		out.Write(r.literal(text, limit, isValue))
		secret = isName && r != nil && r.shapes && isSecretName(text)
		data = rest
	}
	out.Write(r.numbers(data))
	return out.Bytes()
}

// nextString cuts off the string at the start of data; isName is set for a member's name.
func nextString(data []byte) (text, rest []byte, isName bool) {
	end := literalEnd(data)
	text, rest = data[:end], data[end:]
	return text, rest, bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
}

// hasSecretName reports whether a member of data has the name of a secret.
func hasSecretName(data []byte) bool {
	for {
		start := bytes.IndexByte(data, '"')
		if start < 0 {
			return false
		}
		text, rest, isName := nextString(data[start:])
		if isName && isSecretName(text) {
			return true
		}
		data = rest
	}
}

// plain reports whether no string of data changes for its content; checking all at once is faster.
func (r *Redactor) plain(data []byte, limit int) bool {
	return (r == nil || r.values == nil) && (limit == 0 || len(data) <= limit) &&
		(r == nil || !r.shapes || !mayHoldToken(data) && !maybeEscaped(data))
}

// numbers redacts what is between strings.
func (r *Redactor) numbers(data []byte) []byte {
	if r == nil || r.values == nil || !bytes.ContainsAny(data, "0123456789") {
		return data
	}
	return number().ReplaceAllFunc(data, func(n []byte) []byte {
		if clean := r.values.replace(string(n)); clean != string(n) {
			return tool.MustMarshal(clean)
		}
		return n
	})
}

var number = regexlimit.Lazy(`[-+.0-9eE]+`)

// literalEnd returns the length of the string literal at the start of data.
func literalEnd(data []byte) int {
	for i := 1; i < len(data); i++ {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			break
		}
		i += quote
		escapes := i
		for escapes > 1 && data[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1
		}
	}
	return len(data)
}

func (r *Redactor) literal(written []byte, limit int, whole bool) []byte {
	text := string(written[1:max(1, len(written)-1)])
	if strings.ContainsRune(text, '\\') && json.Unmarshal(written, &text) != nil {
		return written
	}
	seen := r.searchedPart(text, limit)
	clean := r.String(seen)
	if whole && text != "" {
		clean = Mark
	} else if more := len(text) - len(seen); more > 0 {
		clean = cut(clean, max(0, min(limit, len(clean)-r.beyond())), more)
	} else if limit > 0 && len(clean) > limit {
		clean = cut(clean, limit, 0)
	}
	if clean == text {
		return written
	}
	return tool.MustMarshal(clean)
}

// searchedPart returns the part of a text to search if only limit bytes of it are kept: all of it would take seconds
// for some megabytes.
func (r *Redactor) searchedPart(text string, limit int) string {
	end := limit + r.beyond()
	if limit == 0 || len(text) <= end {
		return text
	}
	return text[:end]
}

// beyond returns how far after a cut a text is searched. A secret cut off there lies in these dropped bytes
// only.
func (r *Redactor) beyond() int {
	if r == nil || r.values == nil {
		return minMargin
	}
	return minMargin + maxEscape*r.values.longest
}

// cut keeps the first part of s, in whole characters, and says how much is missing, including the more bytes
// that followed.
func cut(s string, limit, more int) string {
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return fmt.Sprintf("%s[... %d bytes left out]", s[:limit], len(s)-limit+more)
}
