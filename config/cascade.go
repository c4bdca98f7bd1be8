package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// withoutConsequences leaves out what is only said because of a mistake in the
// syntax that is told as well: that something is missing from the block that
// could not be read to its end, that the lines after an open quote belong to a
// text too, and what the parser makes of bytes that are no UTF-8. The first syntax diagnostics of list are those of the parser.
func withoutConsequences(list hcl.Diagnostics, syntax int, file *hcl.File) hcl.Diagnostics {
	if syntax == 0 {
		return list
	}
	const encoding = "Invalid character encoding"
	broken, garbled := make(map[int]bool), false
	for _, diag := range list[:syntax] {
		broken[topBlock(file, diag)] = true
		garbled = garbled || diag.Summary == encoding
	}
	var kept hcl.Diagnostics
	for i, diag := range list {
		switch {
		case i < syntax && garbled && diag.Summary != encoding:
		case i < syntax && i > 0 && afterOpenQuote(list[i-1], diag):
		case i >= syntax && ofAbsence(diag) && broken[topBlock(file, diag)]:
		default:
			kept = append(kept, diag)
		}
	}
	return kept
}

// topBlock tells which block of the file a diagnostic is about: the last one
// that begins before it, and -1 for none.
func topBlock(file *hcl.File, diag *hcl.Diagnostic) int {
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok || diag.Subject == nil {
		return -1
	}
	last, at := -1, -1
	for i, b := range body.Blocks {
		if start := b.TypeRange.Start.Byte; start <= diag.Subject.Start.Byte && start > at {
			last, at = i, start
		}
	}
	return last
}

// afterOpenQuote reports a complaint about the lines after a text that was not
// closed.
func afterOpenQuote(before, diag *hcl.Diagnostic) bool {
	const multiLine = "Invalid multi-line string"
	return before.Summary == multiLine && (diag.Summary == multiLine || diag.Summary == "Unterminated template string")
}

// ofAbsence reports whether a diagnostic says that something is not there.
func ofAbsence(diag *hcl.Diagnostic) bool {
	return slices.Contains([]string{
		"Missing attribute", "Tool without a command", "Tool without a description", "Unused parameter",
		"Resource without content", "Prompt without messages", "Message without content",
	}, diag.Summary)
}
