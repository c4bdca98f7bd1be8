// Package lines reads texts of any size and encoding line by line, as far as wanted.
package lines

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Line is one line of a text.
type Line struct {
	// Number counts from 1.
	Number int
	// Text is the line with its ending, up to the wanted length. It is valid until the next line is read.
	Text []byte
	// Size is that of the whole line, Ending that of the newline with a carriage return before it, 0 if the last
	// line has none.
	Size, Ending int
}

// Content returns Text without the ending.
func (l Line) Content() []byte { return l.Text[:min(len(l.Text), l.Size-l.Ending)] }

// Shown returns the content as UTF-8, of a long one its first bytes and how many more there are.
func (l Line) Shown(most int) string {
	part := truncate.Head(l.Content(), most)
	text := Shown(part)
	if rest := l.Size - l.Ending - len(part); rest > 0 {
		text += fmt.Sprintf(" [... %d more bytes in this line]", rest)
	}
	return text
}

// Each calls visit with all lines of r in order, each cut to most bytes.
func Each(ctx context.Context, r io.Reader, most int, visit func(Line)) error {
	return While(ctx, r, most, func(l Line) bool {
		visit(l)
		return true
	})
}

// While is Each that ends when visit returns false.
func While(ctx context.Context, r io.Reader, most int, visit func(Line) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	line := Line{Number: 1}
	var held []byte // the start of a line that is longer than the reader's buffer
	var last byte   // of what was read before
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk, err := in.ReadSlice('\n')
		line.Size += len(chunk)
		line.Text = chunk
		full := errors.Is(err, bufio.ErrBufferFull)
		if full || len(held) > 0 {
			held = append(held, chunk[:min(len(chunk), most-len(held))]...)
			line.Text = held
		}
		if full {
			last = chunk[len(chunk)-1]
			continue
		}
		if line.Size > 0 {
			line.Ending = ending(last, chunk)
			line.Text = line.Text[:min(len(line.Text), most)]
			if !visit(line) {
				return nil
			}
			line = Line{Number: line.Number + 1}
			held, last = held[:0], 0
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ending returns the size of a chunk's line ending, given the byte before it.
func ending(before byte, chunk []byte) int {
	n := len(chunk)
	if n == 0 || chunk[n-1] != '\n' {
		return 0
	}
	if n > 1 {
		before = chunk[n-2]
	}
	if before == '\r' {
		return 2
	}
	return 1
}
