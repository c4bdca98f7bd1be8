package export

import (
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// isCommon reports whether RE2 and ECMA-262, also in Unicode mode, read a pattern the same way.
func isCommon(pattern string) bool {
	c := common{rest: pattern}
	for c.rest != "" {
		if !c.step() {
			return false
		}
	}
	return c.depth == 0
}

// common reads a pattern piece by piece.
type common struct {
	rest      string
	depth     int  // of groups
	repeating bool // the previous piece may be repeated
}

// counted matches a number of repetitions.
var counted = regexlimit.Lazy(`^\{[0-9]+(,[0-9]*)?\}`)

func (c *common) step() bool {
	switch first := c.rest[0]; first {
	case '\\':
		return c.escape(`^$\.*+?()[]{}|/`)
	case '[':
		return c.class()
	case '(':
		if strings.HasPrefix(c.rest, "(?") && !strings.HasPrefix(c.rest, "(?:") {
			return false
		}
		c.depth++
		c.rest = strings.TrimPrefix(c.rest[1:], "?:")
		c.repeating = false
		return true
	case ')':
		c.depth--
		c.advance(1, true)
		return c.depth >= 0
	case '*', '+', '?', '{':
		return c.repetition()
	case '|', '^', '$':
		c.advance(1, false)
		return true
	case ']', '}':
		return false
	}
	c.advance(1, true)
	return true
}

func (c *common) advance(n int, repeating bool) {
	c.rest, c.repeating = c.rest[n:], repeating
}

func (c *common) repetition() bool {
	length := 1
	if c.rest[0] == '{' {
		length = len(counted().FindString(c.rest))
	}
	if !c.repeating || length == 0 {
		return false
	}
	c.advance(length, false)
	if strings.HasPrefix(c.rest, "?") {
		c.advance(1, false)
	}
	return true
}

// escape reads a backslash escape: a class, a control character, or one of special.
func (c *common) escape(special string) bool {
	if len(c.rest) < 2 {
		return false
	}
	switch next := c.rest[1]; {
	case strings.IndexByte(`dDwWtnrfv`, next) >= 0 || strings.IndexByte(special, next) >= 0:
		c.advance(2, true)
	case next == 'b' || next == 'B':
		c.advance(2, false)
	default:
		return false
	}
	return true
}

func (c *common) class() bool {
	c.advance(1, true)
	c.rest = strings.TrimPrefix(c.rest, "^")
	for empty, afterSet := true, false; c.rest != ""; empty = false {
		switch first := c.rest[0]; {
		case first == ']':
			c.advance(1, true)
			return !empty
		case first == '[':
			return false
		case first == '\\':
			set := len(c.rest) > 1 && strings.IndexByte(`dDwW`, c.rest[1]) >= 0
			if len(c.rest) > 1 && (c.rest[1] == 'b' || c.rest[1] == 'B') || !c.escape(`^$\.*+?()[]{}|/-`) {
				return false
			}
			afterSet = set
			continue
		case first == '-' && (afterSet || strings.HasPrefix(c.rest, `-\`)) && !strings.HasPrefix(c.rest, "-]"):
			return false
		}
		afterSet = false
		c.advance(1, true)
	}
	return false
}
