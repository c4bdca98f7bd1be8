package agentbench

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// ripgrepMax bounds what is taken of ripgrep's answer, in bytes.
const ripgrepMax = 64 << 20

// Ripgrep is a Searcher that works with the program rg, for operators who
// want that. Where it is missing, a search fails as ripgrep_unavailable.
func Ripgrep(ws *workspace.Workspace) Searcher { return ripgrep{ws} }

type ripgrep struct{ workspace *workspace.Workspace }

// Search implements Searcher.
func (r ripgrep) Search(ctx context.Context, q Query) (*Found, error) {
	program, err := proc.LookPath("rg", r.workspace.Root())
	if err != nil {
		return nil, as(typeNoRipgrep, err)
	}
	ended, err := proc.Run(ctx, proc.Command{
		Argv: append([]string{program}, ripgrepArgs(q)...), Dir: r.workspace.Root(), Env: proc.Environ(nil),
		Cap: ripgrepMax, Grace: 100 * time.Millisecond,
	})
	switch {
	case err != nil:
		return nil, as(typeNoRipgrep, err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case ended.ExitCode > 1 && ended.Stdout.Bytes == 0 || ended.Stdout.Truncated():
		return nil, ripgrepFailed(ended)
	}
	return readRipgrep(ended.Stdout.Head, q)
}

func ripgrepArgs(q Query) []string {
	args := []string{
		"--json", "--no-config", "--no-ignore-global", "--no-require-git", "--sort=path", "--ignore-case",
		"--context=" + strconv.Itoa(q.Context), "--regexp=" + q.Pattern,
	}
	if !q.Regex {
		args = append(args, "--fixed-strings")
	}
	if q.Glob != "" {
		args = append(args, "--glob="+q.Glob)
	}
	return append(args, "./")
}

func ripgrepFailed(ended *proc.Result) error {
	said := strings.TrimSpace(ended.Stderr.String())
	if ended.Stdout.Truncated() {
		said = "it found more than can be taken in"
	}
	return as(typeRipgrep, tool.Errorf(tool.CommandFailed, "ripgrep exited with code %d: %s", ended.ExitCode, said).
		Suggest("Correct the query or the glob; set is_regex to false to look for the text as it is.").
		With("exit_code", ended.ExitCode).With("stderr", said))
}

// ripgrepText is a text in ripgrep's answer, in base64 when it is not UTF-8.
type ripgrepText struct {
	Text  string `json:"text"`
	Bytes []byte `json:"bytes"`
}

func (t ripgrepText) String() string {
	if t.Bytes != nil {
		return string(t.Bytes)
	}
	return t.Text
}

type ripgrepLine struct {
	Type string `json:"type"`
	Data struct {
		Path   ripgrepText `json:"path"`
		Lines  ripgrepText `json:"lines"`
		Number int         `json:"line_number"`
	} `json:"data"`
}

// readRipgrep reads an answer, one file after the other.
func readRipgrep(answer []byte, q Query) (*Found, error) {
	found := &Found{}
	var file []ripgrepLine
	for raw := range bytes.Lines(answer) {
		var l ripgrepLine
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, as(typeRipgrep, tool.Errorf(tool.Unsupported, "ripgrep's answer cannot be read: %w", err).
				Suggest("Install a newer ripgrep, or let search work with its own engine."))
		}
		switch l.Type {
		case "begin":
			file = file[:0]
		case "match", "context":
			file = append(file, l)
		case "end":
			found.addFile(file, q)
		}
	}
	return found, nil
}

// addFile takes the matches of one file, whose lines stand in order.
func (f *Found) addFile(lines []ripgrepLine, q Query) {
	for i, l := range lines {
		if l.Type != "match" {
			continue
		}
		f.Total++
		if len(f.Matches) >= q.Max {
			continue
		}
		m := Match{
			File: strings.TrimPrefix(l.Data.Path.String(), "./"), Line: l.Data.Number, Content: shownLine(l.Data.Lines.String()),
			Before: []string{}, After: []string{},
		}
		for _, near := range lines[max(0, i-q.Context):min(len(lines), i+q.Context+1)] {
			switch away := near.Data.Number - l.Data.Number; {
			case away < 0 && -away <= q.Context:
				m.Before = append(m.Before, shownLine(near.Data.Lines.String()))
			case away > 0 && away <= q.Context:
				m.After = append(m.After, shownLine(near.Data.Lines.String()))
			}
		}
		f.Matches = append(f.Matches, m)
	}
}
