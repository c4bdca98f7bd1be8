package matching

import (
	"regexp"
	"sync"
)

// Lazy gives an expression that is compiled when it is first used: most runs of
// the program need few of them.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
