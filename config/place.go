package config

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/redact"
)

// Report makes a diagnostic about something that reading the file does not show,
// such as a program that is not installed. At is the Pos of what it is about;
// severity is "error" or "warning".
func (c *Config) Report(severity, at, summary, detail, hint string) Diagnostic {
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: sentence(detail), Subject: c.lineOf(at)}
	if severity == "warning" {
		diag.Severity = hcl.DiagWarning
	}
	if hint != "" {
		diag.Detail += " " + hint
		diag.Extra = suggestion(hint)
	}
	diag.Detail = redact.New(c.Secrets).String(diag.Detail)
	return diagnostic(diag, c.file)
}

// lineOf gives the line that a Pos names, nil where there is none.
func (c *Config) lineOf(at string) *hcl.Range {
	i := strings.LastIndexByte(at, ':')
	number, err := strconv.Atoi(at[i+1:])
	if i < 0 || err != nil || number < 1 || c.file == nil {
		return nil
	}
	start, rest := 0, c.file.Bytes
	for range number - 1 {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return nil
		}
		start, rest = start+end+1, rest[end+1:]
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	blank := len(line) - len(bytes.TrimLeft(line, " \t"))
	line = bytes.TrimSpace(line)
	from := hcl.Pos{Line: number, Column: blank + 1, Byte: start + blank}
	to := hcl.Pos{Line: number, Column: blank + 1 + len(line), Byte: start + blank + len(line)}
	return &hcl.Range{Filename: at[:i], Start: from, End: to}
}
