package redact

// Stream redacts values in a text that comes in chunks, holding back only what may be the beginning of one. A
// nil Stream passes everything.
type Stream struct {
	values *values
	held   []byte
}

// maxHeld bounds what is held back: in a text of consecutive secrets there is always one that begins.
const maxHeld = 16 << 10

// NewStream returns a stream, nil if there is nothing to redact.
func NewStream(secrets []string) *Stream {
	if v := newValues(secrets); v != nil {
		return &Stream{values: v}
	}
	return nil
}

// Pass returns what may be shown by now.
func (s *Stream) Pass(p []byte) []byte {
	if s == nil {
		return p
	}
	return s.redactChunk(append(s.held, p...), false)
}

// Rest returns what was held back, at the end of the stream.
func (s *Stream) Rest() []byte {
	if s == nil {
		return nil
	}
	return s.redactChunk(s.held, true)
}

func (s *Stream) redactChunk(data []byte, last bool) (out []byte) {
	s.held = nil
	for {
		m, found := s.values.next(data)
		switch {
		case !found:
			return append(out, data...)
		case m.more && !last && len(data)-m.start <= max(maxHeld, maxEscape*s.values.longest):
			out = append(out, data[:m.start]...)
			s.held = append([]byte(nil), data[m.start:]...)
			return out
		case m.end == m.start:
			out, data = append(out, data[:m.start+1]...), data[m.start+1:]
		default:
			out, data = append(append(out, data[:m.start]...), Mark...), data[m.end:]
		}
	}
}
