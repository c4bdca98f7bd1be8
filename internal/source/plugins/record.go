package plugins

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/exact"
)

type record struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

func (r record) text() string {
	parts := []string{r.message}
	for _, a := range r.attrs {
		parts = append(parts, a.String())
	}
	return strings.Join(parts, " ")
}

// parseRecord parses the JSON lines of hclog and of log/slog. Other lines are messages.
func parseRecord(line []byte) record {
	plain := record{level: slog.LevelInfo, message: shown(string(line), maxLine)}
	if len(line) == 0 || line[0] != '{' {
		return plain
	}
	fields, err := exact.Object(line)
	if err != nil {
		return plain
	}
	for _, keys := range [][3]string{{"@message", "@level", "@timestamp"}, {"msg", "level", "time"}} {
		message, isText := fields[keys[0]].(string)
		level, hasLevel := fields[keys[1]].(string)
		if !isText || !hasLevel {
			continue
		}
		for _, k := range keys {
			delete(fields, k)
		}
		return record{level: parseLevel(level), message: message, attrs: attrs(fields)}
	}
	return plain
}

func parseLevel(s string) slog.Level {
	if strings.EqualFold(s, "trace") {
		return slog.LevelDebug - 4
	}
	var level slog.Level
	if level.UnmarshalText([]byte(s)) != nil {
		return slog.LevelInfo
	}
	return level
}

func attrs(fields map[string]any) []slog.Attr {
	var out []slog.Attr
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[k].(type) {
		case string:
			out = append(out, slog.String(k, v))
		case float64, int64, json.Number, bool, nil:
			out = append(out, slog.Any(k, v))
		default:
			text, _ := json.Marshal(v)
			out = append(out, slog.String(k, string(text)))
		}
	}
	return out
}
