package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Bounds of foreign texts, in bytes.
const (
	MostName    = 200      // names, titles
	MostMessage = 4 << 10  // questions, errors, progress
	MostText    = 16 << 10 // descriptions, instructions
	MostSchema  = 256 << 10
)

// Sanitize returns at most limit bytes of a plugin's or server's text, for models and users, and says
// how much is left out.
func Sanitize(s string, limit int) string {
	if len(s) > limit {
		n := limit
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = fmt.Sprintf("%s [... %d bytes left out]", s[:n], len(s)-n)
	}
	return Text(usual.Replace(s))
}

// usual are characters common in prose without a meaning here: CRLF, no-break space, emoji
// presentation.
var usual = strings.NewReplacer("\r\n", "\n", "\u00a0", " ", "\ufe0f", "")

// SanitizeLine is Sanitize in one line.
func SanitizeLine(s string, limit int) string {
	return strings.NewReplacer("\n", `\n`, "\t", " ").Replace(Sanitize(s, limit))
}

// SanitizeSchema returns a foreign schema in readable form; nil if it is too long, invalid, or hides
// something in its names and values.
func SanitizeSchema(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 || len(schema) > MostSchema {
		return nil
	}
	said, clear := Schema(schema, MostText)
	if !clear {
		return nil
	}
	return said
}

// Schema returns a JSON schema with all titles and descriptions sanitized; the rest is unchanged. clear
// reports whether all other texts are unmistakable. Invalid JSON returns nil.
func Schema(schema json.RawMessage, limit int) (said json.RawMessage, clear bool) {
	if !json.Valid(schema) {
		return nil, false
	}
	if plain(string(schema), layout) && !escapes().Match(schema) && len(schema) <= limit {
		return schema, true
	}
	w := schemaWriter{decoder: json.NewDecoder(bytes.NewReader(schema)), limit: limit, clear: true}
	w.decoder.UseNumber()
	if w.value("") != nil {
		return nil, false
	}
	return w.out.Bytes(), w.clear
}

// escapes match JSON escapes that may stand for invisible characters.
var escapes = regexlimit.Lazy(`\\[ubfr]`)

type schemaWriter struct {
	decoder *json.Decoder
	out     bytes.Buffer
	limit   int
	clear   bool
}

// value copies the value of key; a list's elements have the list's key.
func (w *schemaWriter) value(key string) error {
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		return w.group(t, key)
	case string:
		if key == "title" || key == "description" || key == "enumNames" {
			t = Sanitize(t, w.limit)
		}
		w.text(t)
	default:
		data, _ := json.Marshal(t)
		w.out.Write(data)
	}
	return nil
}

func (w *schemaWriter) group(open json.Delim, key string) error {
	w.out.WriteString(open.String())
	for n := 0; w.decoder.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		of := key
		if open == '{' {
			name, err := w.decoder.Token()
			if err != nil {
				return err
			}
			of = name.(string)
			w.text(of)
			w.out.WriteByte(':')
		}
		if err := w.value(of); err != nil {
			return err
		}
	}
	end, err := w.decoder.Token()
	if err == nil {
		w.out.WriteString(end.(json.Delim).String())
	}
	return err
}

func (w *schemaWriter) text(s string) {
	seen := usual.Replace(s)
	w.clear = w.clear && Text(seen) == seen
	encoder := json.NewEncoder(&w.out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s)
	w.out.Truncate(w.out.Len() - 1) // the line feed
}
