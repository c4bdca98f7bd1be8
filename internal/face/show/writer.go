package show

import (
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Writer passes on text as [Output] shows it, and the sequences in Pass unchanged. It is the last
// filter before a terminal.
type Writer struct {
	To io.Writer
	// Pass are the program's own escape sequences, such as colours.
	Pass []string

	mu   sync.Mutex
	held string // an incomplete character, line end or sequence
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.held + string(p)
	keep := w.incomplete(text)
	text, w.held = text[:keep], text[keep:]
	return len(p), w.write(text)
}

// Flush writes what is held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.held
	w.held = ""
	return w.write(text)
}

func (w *Writer) write(text string) error {
	var b strings.Builder
	for text != "" {
		n, sequence := w.next(text)
		b.WriteString(Output(text[:n]))
		b.WriteString(sequence)
		text = text[n+len(sequence):]
	}
	_, err := io.WriteString(w.To, b.String())
	return err
}

// next finds the next allowed sequence, and the length before it.
func (w *Writer) next(text string) (before int, sequence string) {
	for i := 0; ; i++ {
		escape := strings.IndexByte(text[i:], '\x1b')
		if escape < 0 {
			return len(text), ""
		}
		i += escape
		if at := slices.IndexFunc(w.Pass, func(s string) bool { return strings.HasPrefix(text[i:], s) }); at >= 0 {
			return i, w.Pass[at]
		}
	}
}

// incomplete returns the index of the character, line end or sequence at the end of text that the next
// write may complete; len(text) if there is none.
func (w *Writer) incomplete(text string) int {
	for i := max(0, len(text)-8); i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest == "\r", utf8.RuneStart(rest[0]) && !utf8.FullRuneInString(rest):
			return i
		case rest[0] == '\x1b' &&
			slices.ContainsFunc(w.Pass,
				func(s string) bool { return len(rest) < len(s) && strings.HasPrefix(s, rest) }):
			return i
		}
	}
	return len(text)
}
