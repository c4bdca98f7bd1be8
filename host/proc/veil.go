package proc

import (
	"bytes"
	"slices"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// minSecret is the length in bytes below which a value is not looked for.
const minSecret = 4

// veil takes given values out of a stream that comes in pieces. It holds back
// only what may be the beginning of one.
type veil struct {
	secrets [][]byte // the longest first
	held    []byte
}

// newVeil gives nil when there is nothing to take out.
func newVeil(values []string) *veil {
	v := new(veil)
	for _, value := range values {
		if len(value) >= minSecret {
			v.secrets = append(v.secrets, []byte(value))
		}
	}
	if len(v.secrets) == 0 {
		return nil
	}
	slices.SortFunc(v.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return v
}

// pass gives what may be shown by now.
func (v *veil) pass(p []byte) []byte {
	if v == nil {
		return p
	}
	data := slices.Concat(v.held, p)
	var out []byte
	for {
		start, length := v.find(data)
		if open := v.open(data); start < 0 || open <= start {
			// What was found may be a part of a longer one that began before.
			v.held = data[open:]
			return append(out, data[:open]...)
		}
		out = append(append(out, data[:start]...), redacted...)
		data = data[start+length:]
	}
}

// rest gives what was held back, at the end of the stream.
func (v *veil) rest() []byte {
	if v == nil {
		return nil
	}
	data := v.held
	v.held = nil
	var out []byte
	for {
		start, length := v.find(data)
		if start < 0 {
			return append(out, data...)
		}
		out = append(append(out, data[:start]...), redacted...)
		data = data[start+length:]
	}
}

// find gives the first secret in data, the longest of those at one place.
func (v *veil) find(data []byte) (start, length int) {
	start = -1
	for _, secret := range v.secrets {
		if i := bytes.Index(data, secret); i >= 0 && (start < 0 || i < start) {
			start, length = i, len(secret)
		}
	}
	return start, length
}

// open is where the first place begins at which data may end within a secret:
// its length when there is none.
func (v *veil) open(data []byte) int {
	first := len(data)
	for _, secret := range v.secrets {
		for n := min(len(secret)-1, len(data)); n > 0; n-- {
			if bytes.HasSuffix(data, secret[:n]) {
				first = min(first, len(data)-n)
				break
			}
		}
	}
	return first
}
