package regexlimit_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

func TestMatchIsWhatRegexpSays(t *testing.T) {
	long := strings.Repeat("ab \xff\u00e9\n", 5000)
	for _, expression := range []string{`^a`, `b$`, `\n$`, `^(ab .*\n)+$`, `(?s)^.*$`, `\bab\b`, `x`, `\xff`, `é`,
		`^\S+$`, `(?m)^ab`} {
		re := regexp.MustCompile(expression)
		for _, text := range []string{"", "ab", "x", long, long + "x"} {
			matched, known := regexlimit.NewBudget(time.Hour).Match(re, text)
			assert.True(t, known)
			assert.Equal(t, re.MatchString(text), matched, "%s with %d bytes", expression, len(text))
		}
	}
}

func TestSlowPatternsEnd(t *testing.T) {
	re := regexp.MustCompile(`([a-z]{0,100}[0-9]?){0,9}([a-z]{0,100}){0,5}[x-z]{3}$`)
	for _, texts := range []int{1, 100_000} { // one long text, many short ones
		b := regexlimit.NewBudget(50 * time.Millisecond)
		began, known := time.Now(), true
		for range texts {
			_, ok := b.Match(re, strings.Repeat("ab", (8<<20)/texts))
			known = known && ok
		}
		assert.False(t, known)
		assert.Less(t, time.Since(began), 30*time.Second)
	}
}
