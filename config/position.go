package config

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/internal/store/redact"
)

// noteAttrs keeps the places of a block's attributes, for At.
func (r *reader) noteAttrs(b *hcl.Block, attrs hcl.Attributes) {
	if r.cfg.attrs == nil {
		return // a lock file, about which nothing is reported later
	}
	key := r.scope.key + "."
	if b.DefRange != r.scope.at {
		key += strings.Join(append([]string{b.Type}, b.Labels...), " ") + "."
	}
	for name, a := range attrs {
		r.cfg.attrs[key+name] = a.Expr
	}
}

// At returns the place of an attribute for Report, such as "workspace.root", "tool.NAME.command.argv[0]" or
// "policy.rule NAME.tool"; fallback, a Pos, if the file does not have it.
func (c *Config) At(attribute, fallback string) string {
	if c.attribute(attribute) != nil {
		return attribute
	}
	return fallback
}

func item(attribute string, i int) string { return attribute + "[" + strconv.Itoa(i) + "]" }

// attribute returns the range of an attribute's value, or of a list's item.
func (c *Config) attribute(name string) *hcl.Range {
	base, index, item := strings.Cut(name, "[")
	expr, ok := c.attrs[base]
	if !ok {
		return nil
	}
	at := expr.Range()
	if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); item && err == nil {
		if items, diags := hcl.ExprList(expr); !diags.HasErrors() && i < len(items) {
			at = items[i].Range()
		}
	}
	return &at
}

// Report returns a diagnostic about something outside of the file, such as a program that is not installed. at
// is a Pos or a result of At; severity is "error" or "warning".
func (c *Config) Report(severity, at, summary, detail, hint string) Diagnostic {
	subject := c.attribute(at)
	if subject == nil {
		subject = c.lineOf(at)
	}
	diag := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: sentence(detail), Subject: subject}
	if severity == "warning" {
		diag.Severity = hcl.DiagWarning
	}
	if hint != "" {
		diag.Detail += " " + hint
		diag.Extra = &note{suggestion: hint}
	}
	diag.Detail = redact.New(c.Secrets).String(diag.Detail)
	d := diagnostic(diag, c.file)
	if subject == nil {
		d.File = c.Path
	}
	return d
}

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
