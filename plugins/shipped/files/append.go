package files

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/files/textedit"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// sampleSize is how much of the end of a file tells how it is written, in
// bytes. It is even, so that UTF-16 is not cut in the middle of a unit.
const sampleSize = 64 << 10

// sample gives the end of a file, behind its byte order mark; nothing for one
// that cannot be read.
func sample(ws *workspace.Workspace, path string) []byte {
	f, err := ws.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	mark := make([]byte, min(2, info.Size()))
	from := max(0, info.Size()-sampleSize) &^ 1
	end := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(mark, 0); err != nil && err != io.EOF {
		return nil
	}
	if _, err := f.ReadAt(end, from); err != nil && err != io.EOF {
		return nil
	}
	switch {
	case from == 0:
		return end
	case string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff":
		return append(mark, end...)
	}
	for i := 0; i < utf8.UTFMax && len(end) > 0 && !utf8.RuneStart(end[0]); i++ {
		end = end[1:]
	}
	return end
}

// fitted gives text as bytes for the end of a file that ends like sample: in
// its encoding and with its line endings.
func fitted(sample []byte, text string) []byte {
	t, err := textedit.Decode(sample)
	if err != nil {
		return []byte(text) // a binary file
	}
	before := t.Encode()
	t.Append(text)
	if addition, ok := bytes.CutPrefix(t.Encode(), before); ok {
		return addition
	}
	return []byte(text)
}
