package host

import (
	"bytes"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// checked fails a result whose structured part is missing, invalid or not as its schema promises, which strict
// clients would lose whole: "If an output schema is provided, servers MUST provide structured results that
// conform to this schema" (MCP, server/tools).
func checked(entry *Entry, result *tool.Result) *tool.Result {
	if !utf8.Valid(result.Structured) {
		clean := *result
		clean.Structured = bytes.ToValidUTF8(result.Structured, []byte("\ufffd"))
		result = &clean
	}
	promised, err := entry.Returns()
	if promised == nil || err != nil {
		return result
	}
	if len(result.Structured) == 0 {
		if result.Failed != nil {
			return result
		}
		return broken(result, tool.Errorf(tool.CommandFailed,
			"the result of %s has no structured part, which its output schema promises", entry.Name))
	}
	violations := promised.Check(result.Structured)
	if len(violations) == 0 {
		return result
	}
	return broken(result, tool.Errorf(tool.CommandFailed, "the result of %s is not what its output schema says: %s",
		entry.Name, schema.Join(violations[:min(len(violations), 5)])))
}

// broken returns a result without its structured part, as a failure.
func broken(result *tool.Result, why *tool.Error) *tool.Result {
	without := *result
	without.Structured = nil
	if without.Failed == nil {
		without.Failed = why.Suggest("What it gave is above. Tell the tool's author to correct it or the schema.")
		without.Contents = append(without.Contents[:len(without.Contents):len(without.Contents)],
			tool.Content{Kind: tool.KindText, Text: without.Failed.Message + "\n" + without.Failed.Suggestion})
	}
	return &without
}
