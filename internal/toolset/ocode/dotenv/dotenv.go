// Package dotenv reads .env files and changes single variables without touching other lines
// and comments.
package dotenv

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/joho/godotenv"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Read returns the variables of a file as programs load them.
func Read(text []byte) (map[string]string, error) {
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n")) // unknown to the library
	vars, err := godotenv.UnmarshalBytes(text)
	if err != nil {
		return nil, fmt.Errorf("the file does not parse: %w", err)
	}
	return vars, nil
}

// entry is an assignment: the bytes from start to end, with its last newline.
type entry struct {
	name       string
	start, end int
	// comment follows the value, with the blank before it.
	comment string
	export  bool
}

var assignment = regexlimit.Lazy(`^[ \t]*(export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*[=:][ \t]*`)

// entries finds the assignments. A quoted value may span lines.
func entries(text string) []entry {
	var list []entry
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		m := assignment().FindStringSubmatch(text[at:end])
		if m == nil {
			at = end
			continue
		}
		e := entry{name: m[2], start: at, export: m[1] != ""}
		value := at + len(m[0])
		e.end = end
		if value < len(text) && (text[value] == '"' || text[value] == '\'') {
			if closing := closingQuote(text, value); closing > 0 {
				e.end = lineEnd(text, closing)
				e.comment = strings.TrimRight(text[closing+1:e.end], "\r\n")
			}
		} else if i := strings.Index(text[min(value, end):end], " #"); i >= 0 {
			e.comment = strings.TrimRight(text[value+i:end], "\r\n")
		}
		list = append(list, e)
		at = e.end
	}
	return list
}

// lineEnd returns the offset after the newline of the line at at.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// closingQuote returns the offset of the quote that closes the one at open, -1 if unclosed.
func closingQuote(text string, open int) int {
	for i := open + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == text[open]:
			return i
		}
	}
	return -1
}

// ErrValue is wrapped by Set's error for a value that cannot be written.
var ErrValue = errors.New("the value cannot be written so that it reads the same")

// Set sets a variable in the last line that sets it, else in a new line at the end. A trailing
// comment stays. The value is written in the first form that reads back the same.
func Set(text []byte, name, value string) ([]byte, error) {
	if _, err := Read(text); err != nil {
		return nil, err
	}
	for _, form := range forms(value) {
		out := assign(string(text), name, form)
		if vars, err := Read([]byte(out)); err == nil && vars[name] == value {
			return []byte(out), nil
		}
	}
	return nil, ErrValue
}

func assign(old, name, form string) (out string) {
	ending := endingOf(old)
	line := name + "=" + form
	if e, ok := last(entries(old), name); ok {
		if e.export {
			line = "export " + line
		}
		tail := ""
		if strings.HasSuffix(old[e.start:e.end], "\n") {
			tail = ending
		}
		out = old[:e.start] + line + e.comment + tail + old[e.end:]
	} else {
		if old != "" && !strings.HasSuffix(old, "\n") {
			old += ending
		}
		out = old + line + ending
	}
	return out
}

// Delete removes all lines that set a variable. ok is false if there are none.
func Delete(text []byte, name string) (out []byte, ok bool, err error) {
	old, kept, at := string(text), "", 0
	for _, e := range entries(old) {
		if e.name == name {
			kept += old[at:e.start]
			at = e.end
			ok = true
		}
	}
	if !ok {
		return text, false, nil
	}
	out = []byte(kept + old[at:])
	vars, err := Read(out)
	if _, left := vars[name]; err == nil && left {
		err = fmt.Errorf("a line that sets %s is not understood", name)
	}
	return out, true, err
}

func last(list []entry, name string) (found entry, ok bool) {
	for _, e := range list {
		if e.name == name {
			found, ok = e, true
		}
	}
	return found, ok
}

func endingOf(text string) string {
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

var plainValue = regexlimit.Lazy(`^[A-Za-z0-9_./:@%+,-]*$`)

// forms returns the ways to write a value: bare if plain, in single quotes if possible, else in double quotes.
// For many readers a trailing backslash escapes the quote, so such a value is best bare.
func forms(value string) []string {
	if plainValue().MatchString(value) {
		return []string{value}
	}
	var list []string
	if !strings.ContainsAny(value, "'\\\n\r") {
		list = append(list, "'"+value+"'")
	}
	list = append(list, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "\n", `\n`, "\r",
		`\r`).Replace(value)+`"`)
	if !strings.ContainsAny(value, "\n\r") {
		list = append(list, value)
	}
	return list
}
