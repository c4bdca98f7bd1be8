package cliagent

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/toolhost/toolhost/host/excerpt"
)

// lineReader picks lines out of a stream and counts all of them.
type lineReader struct {
	// first and last are the lines wanted, from 1; last 0 is the end.
	first, last int
	// limit bounds text, in bytes.
	limit int

	text            []byte
	total, returned int
	// cut is true when lines were left out because of limit, partial when it
	// is the only line that is cut.
	cut, partial bool
}

// read takes the whole stream.
func (l *lineReader) read(ctx context.Context, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	start := 0 // of the current line in text
	for fresh := true; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk, err := in.ReadSlice('\n')
		if len(chunk) > 0 && fresh {
			l.total++
			start = len(l.text)
		}
		l.take(chunk, start, fresh)
		fresh = err == nil
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// take keeps a part of the current line, if it is wanted.
func (l *lineReader) take(chunk []byte, start int, fresh bool) {
	if len(chunk) == 0 || l.cut || l.total < l.first || l.last > 0 && l.total > l.last {
		return
	}
	if fresh {
		l.returned++
	}
	room := l.limit - len(l.text)
	if len(chunk) <= room {
		l.text = append(l.text, chunk...)
		return
	}
	l.cut = true
	if l.returned > 1 {
		l.text = l.text[:start]
		l.returned--
		return
	}
	l.partial = true
	l.text = excerpt.TrimEnd(append(l.text, chunk[:room]...))
}
