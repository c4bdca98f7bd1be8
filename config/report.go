package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/internal/text/nearest"
)

// fail reports an error: summary, hint on what to do, and details.
func (r *reader) fail(at hcl.Range, summary, hint, format string, args ...any) {
	r.report(hcl.DiagError, at, summary, hint, fmt.Sprintf(format, args...))
}

// warn reports what does not keep the file from being used.
func (r *reader) warn(at hcl.Range, summary, hint, format string, args ...any) {
	r.report(hcl.DiagWarning, at, summary, hint, fmt.Sprintf(format, args...))
}

func (r *reader) report(severity hcl.DiagnosticSeverity, at hcl.Range, summary, hint, detail string) {
	diag := &hcl.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Subject: &at}
	if at.Filename == "" {
		diag.Subject = nil
	}
	if hint != "" {
		diag.Detail += " " + hint
		diag.Extra = &note{suggestion: hint}
	}
	r.diags = append(r.diags, diag)
}

// once reports a second use of a name of a kind, with both places.
func (r *reader) once(kind, name string, at hcl.Range) bool {
	key := kind + "\x00" + name
	if first, ok := r.seen[key]; ok {
		r.fail(at, fmt.Sprintf("Two %ss named %q", kind, name), "Rename or remove one of them.",
			"It stands at %s already.", pos(first))
		return false
	}
	r.seen[key] = at
	return true
}

func (r *reader) single(b *hcl.Block) bool {
	if first, ok := r.seen[b.Type]; ok {
		hint := "Put everything into one."
		if b.Type == "taskfile" {
			hint = "Keep one; its Taskfile can have the others under includes."
		}
		r.fail(b.DefRange, fmt.Sprintf("Two %s blocks", b.Type), hint,
			"There is one at %s already, and a file may have one only.", pos(first))
		return false
	}
	r.seen[b.Type] = b.DefRange
	return true
}

// name checks the name of a tool, parameter and the like.
func (r *reader) name(what, name string, at hcl.Range) bool {
	if name != "" && len(name) <= 64 && strings.Trim(name, nameChars) == "" {
		return true
	}
	r.fail(at, "Invalid name", "Use at most 64 of A-Z, a-z, 0-9, _ and -.", "%q cannot be the name of a %s.", name,
		what)
	return false
}

const nameChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// pos returns a place as "agent.hcl:12".
func pos(at hcl.Range) string { return at.Filename + ":" + strconv.Itoa(at.Start.Line) }

// maxSuggestions bounds the names to compare: a file may have thousands of names and mistakes.
const maxSuggestions = 500

// didYouMean suggests the known name nearest to the given one, "" if none is near.
func didYouMean(given string, known []string) string {
	if len(known) > maxSuggestions {
		return ""
	}
	if near := nearest.Typo(given, known); near != "" {
		return fmt.Sprintf("Did you mean %q?", near)
	}
	return ""
}

// sentence ends a message with a full stop if it has no end.
func sentence(s string) string {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// oneOf returns a list of values for messages.
func oneOf(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = `"` + v + `"`
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return strings.Join(quoted, "")
}

// mustBe suggests one of the only allowed values.
func mustBe(given string, values []string) string {
	hint := "Use " + oneOf(values) + "."
	if near := nearest.Typo(given, values); near != "" && !slices.Contains(values, given) {
		return fmt.Sprintf("Did you mean %q? %s", near, hint)
	}
	return hint
}
