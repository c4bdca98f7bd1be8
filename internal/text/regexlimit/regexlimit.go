// Package regexlimit matches untrusted texts against regular expressions in limited time, and converts names to
// globs. Go's expressions take linear time, but a short one may take seconds for a mebibyte.
package regexlimit

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Lazy returns an expression that is compiled at its first use: most runs of the program need few of them.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// EscapeGlob returns the glob that matches only path.
func EscapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(path)
}

// Budget is the remaining time for matching. It is not safe for concurrent use.
type Budget struct{ left time.Duration }

// NewBudget returns a budget of that time.
func NewBudget(most time.Duration) *Budget { return &Budget{most} }

// short is the length in bytes up to which a match is not interrupted, and between two checks of the clock.
const short = 4096

// Match reports whether a text matches. known is false once the time is used up.
func (b *Budget) Match(re *regexp.Regexp, text string) (matched, known bool) {
	if b.left <= 0 {
		return false, false
	}
	began := time.Now()
	defer func() { b.left -= time.Since(began) }()
	if len(text) <= short {
		return re.MatchString(text), true
	}
	r := &limited{text: strings.NewReader(text), end: began.Add(b.left)}
	matched = re.MatchReader(r)
	return matched && !r.over, !r.over
}

// limited reads a text until its time is used up.
type limited struct {
	text *strings.Reader
	end  time.Time
	read int
	over bool
}

func (l *limited) ReadRune() (r rune, size int, err error) {
	if l.read++; l.read%short == 0 && time.Now().After(l.end) {
		l.over = true
	}
	if l.over {
		return 0, 0, io.EOF
	}
	return l.text.ReadRune()
}
