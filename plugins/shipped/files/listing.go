package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// shownBytes is about how much of a listing is shown: as much as of a
// command's output.
const shownBytes = 64 << 10

// shownCost is what a name takes in a JSON array.
func shownCost(name string) int { return len(name) + len(`"",`) }

// levels are the names below a directory. When they become too many to show,
// those of the deepest level go first, so that what stays is an overview of
// the whole tree and not its beginning.
type levels struct {
	names  []string
	bytes  int
	lowest int // the deepest level that is kept; 0 while all are
	left   int // names that were left out
}

func level(name string) int { return strings.Count(strings.TrimSuffix(name, "/"), "/") + 1 }

func (l *levels) add(name string) {
	if l.lowest > 0 && level(name) > l.lowest || l.lowest == 1 && l.bytes > shownBytes {
		l.left++
		return
	}
	l.names, l.bytes = append(l.names, name), l.bytes+shownCost(name)
	for l.bytes > shownBytes && l.lowest != 1 {
		l.dropLevel()
	}
}

func (l *levels) dropLevel() {
	deepest := 1
	for _, name := range l.names {
		deepest = max(deepest, level(name))
	}
	l.lowest = max(1, deepest-1)
	l.names = slices.DeleteFunc(l.names, func(name string) bool {
		if level(name) <= l.lowest {
			return false
		}
		l.bytes -= shownCost(name)
		l.left++
		return true
	})
}

func (l *levels) result() *tool.Result {
	switch {
	case l.left == 0:
		return listing(l.names, "")
	case l.bytes > shownBytes:
		return listing(l.names, fmt.Sprintf("[%d more entries left out; find them by name with glob]", l.left))
	case l.lowest == 1:
		return listing(l.names, fmt.Sprintf("[%d entries further down left out; name a directory in path to see what is in it]", l.left))
	}
	return listing(l.names, fmt.Sprintf(
		"[%d entries below the first %d levels left out; name a directory in path to see what is in it]", l.left, l.lowest))
}

// first gives the names that can be shown, from the first on.
func first(names []string) []string {
	bytes := 0
	for i, name := range names {
		if bytes += shownCost(name); bytes > shownBytes {
			return names[:i+1]
		}
	}
	return names
}

// listing is a result that shows names, and with a note says what it does not
// show.
func listing(names []string, note string) *tool.Result {
	r := tool.Text(string(tool.MustMarshal(append([]string{}, names...))))
	if note != "" {
		r.Truncated = true
		r.Contents = append(r.Contents, tool.Text(note).Contents...)
	}
	return r
}
