package session

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Output is a session's output since the last read.
type Output struct {
	// Text has a line about the Omitted bytes, if any.
	Text    string
	Omitted int64
	// Found is set if Text ends with the expected text.
	Found bool
	// Ended is set if the program has ended and nothing more comes.
	Ended bool
}

// Read returns the output since the last read. It waits for text, unless empty, until the time is over, or the
// session or ctx has ended. With an empty text it waits the whole time.
func (n *Session) Read(ctx context.Context, wait time.Duration, text string) Output {
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	for over := wait <= 0; ; {
		// Ended is checked first: all output is there then.
		ended := n.Ended()
		n.mu.Lock()
		news := n.news
		if end := n.unread.find(text); text != "" && end > 0 || ended || over {
			o := n.unread.consume(end, ended)
			n.mu.Unlock()
			return o
		}
		n.mu.Unlock()
		if text == "" {
			news = nil
		}
		select {
		case <-news:
		case <-n.ended:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			over = true
		}
	}
}

// took keeps output until it is read.
func (n *Session) took(_ string, p []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unread.add(p)
	close(n.news)
	n.news = make(chan struct{})
}

// unread is output not yet read: only its first and its last half if there is more.
type unread struct {
	half       int
	head, tail []byte
	omitted    int64
}

func (u *unread) add(p []byte) {
	if room := u.half - len(u.head); room > 0 && len(u.tail) == 0 {
		n := min(room, len(p))
		u.head, p = append(u.head, p[:n]...), p[n:]
	}
	u.tail = append(u.tail, p...)
	if over := len(u.tail) - u.half; over > u.half { // moves once for each half
		u.omitted += int64(over)
		u.tail = append(u.tail[:0], u.tail[over:]...)
	}
}

// find returns the number of bytes up to the end of a text, 0 if it is not there. A text cannot span omitted
// bytes.
func (u *unread) find(text string) int {
	if text == "" {
		return 0
	}
	whole := u.head
	if u.omitted == 0 && len(u.tail) > 0 {
		whole = append(u.head[:len(u.head):len(u.head)], u.tail...)
	}
	if i := bytes.Index(whole, []byte(text)); i >= 0 {
		return i + len(text)
	}
	if u.omitted > 0 {
		if i := bytes.Index(u.tail, []byte(text)); i >= 0 {
			return len(u.head) + i + len(text)
		}
	}
	return 0
}

// consume takes the first bytes, or all for 0. An incomplete character stays, unless nothing more comes.
func (u *unread) consume(upTo int, ended bool) Output {
	o := Output{Found: upTo > 0, Ended: ended && upTo == 0}
	head, tail := u.head, u.tail
	if over := len(tail) - u.half; over > 0 && upTo == 0 {
		u.omitted += int64(over)
		tail = tail[over:]
	}
	var rest []byte
	if upTo > 0 {
		cut := min(upTo, len(head))
		rest = append(append(rest, head[cut:]...), tail[upTo-cut:]...)
		head, tail = head[:cut], tail[:upTo-cut]
	}
	if !ended && upTo == 0 {
		last := &tail
		if len(tail) == 0 {
			last = &head
		}
		whole := truncate.TrimEnd(*last)
		rest = append(rest, (*last)[len(whole):]...)
		*last = whole
	}
	o.Omitted = u.omitted
	if u.omitted > 0 {
		head, tail = truncate.TrimEnd(head), truncate.TrimStart(tail)
		o.Text = fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, u.omitted, tail)
	} else {
		o.Text = string(head) + string(tail)
	}
	*u = unread{half: u.half}
	u.add(rest)
	return o
}
