package host

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
)

// checked gives a result whose structured part is valid text and what the tool
// has promised: strict clients lose the whole result otherwise. One that is not
// fails, with everything else that it says.
func checked(entry *Entry, result *tool.Result) *tool.Result {
	if len(result.Structured) == 0 {
		return result
	}
	if !utf8.Valid(result.Structured) {
		clean := *result
		clean.Structured = bytes.ToValidUTF8(result.Structured, []byte("\ufffd"))
		result = &clean
	}
	promised, err := entry.Returns()
	if promised == nil || err != nil {
		return result
	}
	violations := promised.Check(result.Structured)
	if len(violations) == 0 {
		return result
	}
	without := *result
	without.Structured = nil
	if without.Failed == nil {
		texts := make([]string, 0, len(violations))
		for _, v := range violations[:min(len(violations), 5)] {
			texts = append(texts, v.String())
		}
		without.Failed = tool.Errorf(tool.CommandFailed, "the result of %s is not what its output schema says: %s", entry.Name, strings.Join(texts, "; ")).
			Suggest("What it gave is above. Tell the tool's author to correct it or the schema.")
		without.Contents = append(without.Contents[:len(without.Contents):len(without.Contents)],
			tool.Content{Kind: tool.KindText, Text: without.Failed.Message + "\n" + without.Failed.Suggestion})
	}
	return &without
}
