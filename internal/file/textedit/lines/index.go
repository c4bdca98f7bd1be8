package lines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// indexStep is the approximate distance between the positions in an index, in bytes.
const indexStep = 256 << 10

// ErrNotText is the error for what is not UTF-8 text.
var ErrNotText = errors.New("not UTF-8 text")

// Index has positions of lines in a text, so that parts of large files can be read.
type Index struct {
	// Total counts the lines, including a last one without a newline.
	Total  int
	places []position
}

type position struct {
	line   int // from 1
	offset int64
}

// IndexOf reads a text to its end and returns its index.
func IndexOf(ctx context.Context, r io.Reader) (*Index, error) {
	index := &Index{places: []position{{1, 0}}}
	buf := make([]byte, 16<<10)
	offset, pending, open := int64(0), 0, false
	for {
		n, err := r.Read(buf[pending:])
		chunk := truncate.TrimEnd(buf[:pending+n])
		if !utf8.Valid(chunk) ||
			offset < sniffed && bytes.IndexByte(chunk[:min(int64(len(chunk)), sniffed-offset)], 0) >= 0 {
			return nil, ErrNotText
		}
		if offset-index.places[len(index.places)-1].offset >= indexStep {
			if at := bytes.IndexByte(chunk, '\n'); at >= 0 {
				index.places = append(index.places, position{index.Total + 2, offset + int64(at) + 1})
			}
		}
		index.Total += bytes.Count(chunk, []byte{'\n'})
		if len(chunk) > 0 {
			open = chunk[len(chunk)-1] != '\n'
		}
		offset += int64(len(chunk))
		rest := pending + n - len(chunk)
		if errors.Is(err, io.EOF) {
			if rest > 0 {
				return nil, ErrNotText
			}
			if open {
				index.Total++
			}
			return index, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		pending = copy(buf, buf[len(chunk):len(chunk)+rest])
		if offset >= indexStep && len(buf) < indexStep {
			buf = append(buf, make([]byte, indexStep-len(buf))...)
		}
	}
}

// Read returns the lines from first to last, or their first limit bytes and how many more there are.
func (x *Index) Read(r io.ReadSeeker, first, last, limit int) (text string, omitted int64, err error) {
	at, found := slices.BinarySearchFunc(x.places, first, func(p position, line int) int { return p.line - line })
	if !found {
		at--
	}
	if _, err := r.Seek(x.places[at].offset, io.SeekStart); err != nil {
		return "", 0, err
	}
	in := bufio.NewReader(r)
	var b strings.Builder
	for line := x.places[at].line; line <= last; {
		part, err := in.ReadSlice('\n')
		if line >= first {
			room := min(len(part), limit-b.Len())
			b.Write(part[:room])
			omitted += int64(len(part) - room)
		}
		switch {
		case err == nil:
			line++
		case errors.Is(err, io.EOF):
			line = last + 1
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", 0, err
		}
	}
	if omitted == 0 {
		return b.String(), 0, nil
	}
	text = truncate.TrimEnd(b.String())
	return text, omitted + int64(b.Len()-len(text)), nil
}
