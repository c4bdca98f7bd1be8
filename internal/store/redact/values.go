// Package redact removes secrets from what leaves the host: from texts, JSON and streams. A secret is a given
// value, with any of its characters escaped as in JSON, any number of times; or, on request, the shape of
// well-known tokens.
//
// Where values overlap, both are redacted whole.
package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// minimum is the least length of a value, in bytes: a shorter one would redact harmless text and protect
// nothing.
const minimum = 4

// values are the secrets to search, longest first.
type values struct {
	secrets []secret
	// begins are their first bytes.
	begins [256]bool
	// longest is the length of the longest, unescaped, in bytes.
	longest int
}

// secret is a value, whole and in tokens.
type secret struct {
	raw    string
	tokens []token
}

// token is a character of a secret, or a run of backslashes, which escaping lengthens.
type token struct {
	raw string
	// char is -1 for a byte that is not UTF-8.
	char rune
}

func newValues(secrets []string) *values {
	v := new(values)
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minimum })
	slices.SortFunc(secrets, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for _, raw := range slices.Compact(secrets) {
		v.secrets = append(v.secrets, secret{raw, piecesOf(raw)})
		v.begins[raw[0]] = true
		v.begins['\\'] = true
		v.longest = max(v.longest, len(raw))
	}
	if len(v.secrets) == 0 {
		return nil
	}
	return v
}

func piecesOf(secret string) (tokens []token) {
	for len(secret) > 0 {
		char, size := utf8.DecodeRuneInString(secret)
		if char == utf8.RuneError && size == 1 {
			char = -1
		}
		if char == '\\' {
			size = len(secret) - len(strings.TrimLeft(secret, `\`))
		}
		tokens = append(tokens, token{secret[:size], char})
		secret = secret[size:]
	}
	return tokens
}

// match is the position of a secret. more is set if further data could make it one, or a longer one.
type match struct {
	start, end int
	more       bool
}

// next returns the first match in data, complete or not.
func (v *values) next(data []byte) (match, bool) {
	for i := range data {
		if !v.begins[data[i]] {
			continue
		}
		if m, ok := v.at(data, i); ok {
			return v.joined(data, m), true
		}
	}
	return match{}, false
}

func (v *values) at(data []byte, start int) (m match, ok bool) {
	m.start, m.end = start, start
	for _, secret := range v.secrets {
		n, more := secret.length(data[start:])
		m.more = m.more || more
		m.end = max(m.end, start+n)
	}
	return m, m.more || m.end > start
}

// joined extends m by secrets that begin within it.
func (v *values) joined(data []byte, m match) match {
	for i := m.start + 1; i < m.end; i++ {
		if !v.begins[data[i]] {
			continue
		}
		if inner, ok := v.at(data, i); ok {
			m.end, m.more = max(m.end, inner.end), m.more || inner.more
		}
	}
	return m
}

// length returns how much of data is the secret, 0 if it is not; more reports whether data ends within it.
func (s *secret) length(data []byte) (n int, more bool) {
	if len(data) >= len(s.raw) && string(data[:len(s.raw)]) == s.raw {
		return len(s.raw), false
	}
	for _, p := range s.tokens {
		size, more := p.length(data[n:])
		if size == 0 {
			return 0, more
		}
		n += size
	}
	return n, false
}

// maxRun bounds runs of backslashes: texts that were escaped six times.
const maxRun = 64

// length returns how much of data is the token, plain or escaped.
func (p token) length(data []byte) (n int, more bool) {
	run := 0
	for run < len(data) && run < maxRun && data[run] == '\\' {
		run++
	}
	if p.char == '\\' {
		return p.backslashes(data, run)
	}
	switch {
	case run == len(data) && (run > 0 || len(data) == 0):
		return 0, true
	case run > 0:
		return p.escaped(data, run)
	case len(data) < len(p.raw):
		return 0, strings.HasPrefix(p.raw, string(data))
	case string(data[:len(p.raw)]) == p.raw:
		return len(p.raw), false
	}
	return 0, false
}

// backslashes returns the length of a run of them, or of as many written as numbers.
func (p token) backslashes(data []byte, run int) (n int, more bool) {
	for range p.raw {
		start := n
		for n < len(data) && n-start < maxRun && data[n] == '\\' {
			n++
		}
		size, more := hexadecimal(data[n:], '\\')
		if more && n > start {
			return 0, true
		}
		if n += size; size == 0 || n == start+size {
			if run >= len(p.raw) {
				return run, false
			}
			return 0, run == len(data)
		}
	}
	return n, false
}

var short = map[rune]byte{'"': '"', '/': '/', '\n': 'n', '\t': 't', '\r': 'r', '\b': 'b', '\f': 'f'}

// escaped returns the length of an escape after a run of backslashes.
func (p token) escaped(data []byte, run int) (n int, more bool) {
	if letter, ok := short[p.char]; ok && data[run] == letter {
		return run + 1, false
	}
	units := []rune{p.char}
	if high, low := utf16.EncodeRune(p.char); p.char > 0xffff {
		units = []rune{high, low}
	}
	n = run
	for i, unit := range units {
		if i > 0 {
			again := 0
			for n+again < len(data) && again < maxRun && data[n+again] == '\\' {
				again++
			}
			if n += again; again == 0 || n == len(data) {
				return 0, n == len(data)
			}
		}
		size, more := hexadecimal(data[n:], unit)
		if size == 0 {
			return 0, more
		}
		n += size
	}
	return n, false
}

// hexadecimal returns the length of uXXXX if that is the unit.
func hexadecimal(data []byte, unit rune) (n int, more bool) {
	if unit < 0 || len(data) == 0 || data[0] != 'u' {
		return 0, false
	}
	have := string(data[1:min(len(data), 5)])
	want := strconv.FormatInt(int64(unit)|1<<16, 16)[1:]
	if !strings.HasPrefix(want, strings.ToLower(have)) {
		return 0, false
	}
	if len(have) < len(want) {
		return 0, true
	}
	return 5, false
}

func (v *values) replace(s string) string {
	if v == nil {
		return s
	}
	var out strings.Builder
	data := []byte(s)
	for {
		m, found := v.next(data)
		if !found {
			break
		}
		if m.end == m.start { // only the beginning of a secret
			out.Write(data[:m.start+1])
			data = data[m.start+1:]
			continue
		}
		out.Write(data[:m.start])
		out.WriteString(Mark)
		data = data[m.end:]
	}
	if out.Len() == 0 {
		return string(data)
	}
	out.Write(data)
	return out.String()
}
