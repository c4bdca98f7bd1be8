package ocode

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/excerpt"
)

// memoryShown bounds the text that memory_read shows, in bytes, and
// memoryLine how much of each value a list shows.
const (
	memoryShown = 1 << 20
	memoryLine  = 200
)

type memoryReadParams struct {
	Key      string `json:"key"`
	Category string `json:"category"`
	Type     string `json:"memory_type"`
}

func runMemoryRead(ctx context.Context, _ Deps, call *tool.Call, p memoryReadParams) (*outcome, error) {
	if err := checkMemoryNames(p.Category, p.Key); err != nil {
		return nil, err
	}
	var all []remembered
	for _, scope := range scopes(p.Type) {
		found, err := recall(ctx, call, scope, p.Category, p.Key)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 && p.Key != "" {
		return nil, p.missing()
	}
	return p.report(all), nil
}

func (p memoryReadParams) missing() error {
	where := ""
	if p.Category != "" {
		where = " in category " + p.Category
	}
	return tool.Errorf(tool.NotFound, "Memory not found: %s%s (%s)", p.Key, where, p.Type).
		Suggest("memory_read without a key lists what there is; memory_type all looks in both memories.")
}

func (p memoryReadParams) report(all []remembered) *outcome {
	o := &outcome{metadata: facts{"count": len(all)}}
	shown := all
	if len(all) == 1 && p.Key != "" {
		o.output = all[0].Value
	} else {
		var lines []string
		lines, shown = listed(all)
		o.output = strings.Join(lines, "\n")
	}
	if len(all) == 0 {
		o.output = "No memories found"
	}
	if left := len(all) - len(shown); left > 0 {
		o.Truncated = true
		o.warn(fmt.Sprintf("%d of %d memories are shown; name a category or a key to see the others", len(shown),
			len(all)))
	}
	if cut := shorten(shown, p.Key != ""); cut > 0 {
		o.Truncated = true
		o.warn(fmt.Sprintf("%d of the values in metadata are cut; name the key and category of one to see it whole",
			cut))
	}
	o.set("memories", append([]remembered{}, shown...))
	return o
}

// listed gives one line for each memory, as many as there is room for.
func listed(all []remembered) (lines []string, shown []remembered) {
	room := memoryShown
	for _, m := range all {
		line := fmt.Sprintf("[%s] %s: %s", m.Category, m.Key, oneLine(m.Value))
		if room -= len(line); room < 0 {
			break
		}
		lines, shown = append(lines, line), append(shown, m)
	}
	return lines, shown
}

// shorten cuts the values for which there is no room, so that a large one
// hides none of the others, and tells how many it has cut. A single one that
// was asked for stays whole.
func shorten(shown []remembered, asked bool) (cut int) {
	if asked && len(shown) == 1 {
		return 0
	}
	room := memoryShown
	for i := range shown {
		m := &shown[i]
		if len(m.Value) > memoryLine && len(m.Value) > room {
			m.Value, m.Bytes = excerpt.Head(m.Value, memoryLine), len(m.Value)
			cut++
		}
		room -= len(m.Value)
	}
	return cut
}

// oneLine shows the beginning of a value, and how much more there is.
func oneLine(value string) string {
	first, rest, more := strings.Cut(value, "\n")
	if len(first) > memoryLine {
		cut := excerpt.Head(first, memoryLine)
		return fmt.Sprintf("%s [... %d more bytes]", cut, len(value)-len(cut))
	}
	if more && rest != "" {
		if lines := strings.Count(strings.TrimSuffix(rest, "\n"), "\n") + 1; lines > 1 {
			return fmt.Sprintf("%s [... %d more lines]", first, lines)
		}
		return first + " [... 1 more line]"
	}
	return first
}
