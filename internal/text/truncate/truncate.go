// Package truncate truncates UTF-8 texts at character boundaries. Bytes that are not UTF-8 stay.
package truncate

import "unicode/utf8"

// Head returns the longest prefix of whole characters of at most limit bytes.
func Head[T ~string | ~[]byte](text T, limit int) T {
	if len(text) <= limit {
		return text
	}
	return TrimEnd(text[:limit])
}

// Shorten is Head followed by "..." if something is left out.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Head(text, limit) + "..."
}

// TrimEnd removes an incomplete character at the end of text, as after a limited read.
func TrimEnd[T ~string | ~[]byte](text T) T {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune([]byte(text[i:])) {
				return text[:i]
			}
			break
		}
	}
	return text
}

// TrimStart removes the rest of a character at the start of text.
func TrimStart[T ~string | ~[]byte](text T) T {
	const most = utf8.UTFMax - 1 // bytes after a character's first
	for i := range min(len(text), most+1) {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	if len(text) <= most {
		return text[len(text):]
	}
	return text
}
