package patch

import (
	"bytes"
	"slices"
	"strings"
)

// content is a file as lines with their endings, which the last may lack. It is split only as far as requested.
type content struct {
	text  string
	count int   // of lines
	from  []int // offsets of the first lines
}

func newContent(data []byte) content {
	c := content{text: string(data), count: bytes.Count(data, []byte{'\n'}), from: make([]int, 1, 16)}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		c.count++
	}
	return c
}

// start returns the offset of line i, from 0; that after the last is the end.
func (c *content) start(i int) int {
	if i >= c.count {
		return len(c.text)
	}
	for len(c.from) <= i {
		at := c.from[len(c.from)-1]
		c.from = append(c.from, at+strings.IndexByte(c.text[at:], '\n')+1)
	}
	return c.from[i]
}

func (c *content) lines(i, end int) string { return c.text[c.start(i):c.start(end)] }

func (c *content) line(i int) string { return c.lines(i, i+1) }

func fileLines(data []byte) []string { return cut(string(data)) }

func cut(text string) []string {
	return slices.AppendSeq(make([]string, 0, strings.Count(text, "\n")+1), strings.Lines(text))
}
