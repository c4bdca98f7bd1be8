package textedit

import (
	"bytes"
	"strings"
)

// DevNull is the name of a missing file in a diff.
const DevNull = "/dev/null"

// Diff returns the unified diff from old to new, with git's names and context lines around each change, "" if they
// are equal.
//
// The names are paths without the prefixes "a/" and "b/", which Diff adds; "" and DevNull stand for a missing file.
// UTF-16 text is compared and shown as UTF-8; other binary data is only reported to differ.
func Diff(oldName, newName string, old, new []byte, context int) string {
	if bytes.Equal(old, new) {
		return ""
	}
	oldName, newName = diffName("a/", oldName), diffName("b/", newName)
	old, new = diffable(old, new)
	if hasNUL(old) || hasNUL(new) {
		return "Binary files " + quoteName(oldName) + " and " + quoteName(newName) + " differ\n"
	}
	var b strings.Builder
	b.WriteString("--- " + headerName(oldName) + "\n+++ " + headerName(newName) + "\n")
	compare(old, new).write(&b, max(context, 0))
	return b.String()
}

func diffName(prefix, name string) string {
	if name == "" || name == DevNull {
		return DevNull
	}
	return prefix + strings.TrimPrefix(name, "/")
}

// diffable converts UTF-16 to UTF-8, with a mark to distinguish the two.
func diffable(old, new []byte) (_, _ []byte) {
	return diffableSide(old), diffableSide(new)
}

func diffableSide(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte(utf16leBOM)) && !bytes.HasPrefix(data, []byte(utf16beBOM)) || IsBinary(data) {
		return data
	}
	t, err := Decode(data)
	if err != nil {
		return data
	}
	return append([]byte(utf8BOM), t.body...)
}

func hasNUL(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0
}

// headerName returns a name for a "---" or "+++" line: one with a blank is followed by a tab, so that readers
// find its end.
func headerName(name string) string {
	quoted := quoteName(name)
	if strings.Contains(name, " ") {
		quoted += "\t"
	}
	return quoted
}

func quoteName(name string) string {
	const escapes = "abtnvfr" // of bytes 7 to 13
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 7 && c <= 13:
			b.WriteByte('\\')
			b.WriteByte(escapes[c-7])
		case c < ' ' || c >= 0x7f:
			b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() == len(name) {
		return name
	}
	return `"` + b.String() + `"`
}
