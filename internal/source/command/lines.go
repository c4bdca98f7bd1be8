package command

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// reporter passes on a running command's progress and log messages, from lines on standard error with a prefix
//
//	PREFIXprogress DONE[/TOTAL] [MESSAGE]
//	PREFIXlog [debug|info|warn|error] MESSAGE
//
// and, once it has run for a while, every other line as a sign of life.
type reporter struct {
	ctx     context.Context
	call    *tool.Call
	prefix  string
	started time.Time
}

func (r *reporter) line(stream, line string) {
	if rest, ok := strings.CutPrefix(line, r.prefix); ok && r.prefix != "" && stream == "stderr" {
		r.report(rest)
		return
	}
	if elapsed := time.Since(r.started); r.prefix == "" && elapsed > progressAfter {
		r.call.Progress(r.ctx, tool.Progress{Done: elapsed.Seconds(), Message: line})
	}
}

func (r *reporter) report(line string) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case "progress":
		if p, ok := parseProgress(rest); ok {
			r.call.Progress(r.ctx, p)
		}
	case "log":
		level, message := parseLog(rest)
		r.call.Log(r.ctx, level, message)
	}
}

// parseProgress parses "50/100 half way" and "50 half way".
func parseProgress(text string) (tool.Progress, bool) {
	numbers, message, _ := strings.Cut(text, " ")
	done, total, _ := strings.Cut(numbers, "/")
	p := tool.Progress{Message: strings.TrimSpace(message)}
	var err error
	if p.Done, err = strconv.ParseFloat(done, 64); err != nil || p.Done < 0 {
		return p, false
	}
	if total != "" {
		if p.Total, err = strconv.ParseFloat(total, 64); err != nil || p.Total < 0 {
			return p, false
		}
	}
	return p, p.Done-p.Done == 0 && p.Total-p.Total == 0 // neither infinite nor NaN
}

// parseLog parses "warn text". The default level is info.
func parseLog(text string) (slog.Level, string) {
	word, rest, _ := strings.Cut(text, " ")
	switch strings.ToLower(word) {
	case "debug":
		return slog.LevelDebug, rest
	case "info":
		return slog.LevelInfo, rest
	case "warn", "warning":
		return slog.LevelWarn, rest
	case "error":
		return slog.LevelError, rest
	}
	return slog.LevelInfo, text
}

func withoutReports(text []byte, prefix string) []byte {
	if prefix == "" || len(text) == 0 {
		return text
	}
	var kept []string
	for line := range strings.SplitAfterSeq(string(text), "\n") {
		if !strings.HasPrefix(line, prefix) {
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept, ""))
}
