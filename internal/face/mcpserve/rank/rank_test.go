package rank_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/face/mcpserve/rank"
)

func TestBest(t *testing.T) {
	documents := []rank.Document{
		{"read_file", "Read a file of the workspace.", `{"path":"The file."}`},
		{"edit_file", "Replace text in a file.", `{"old_str":"what to replace"}`},
		{"web_fetch", "Fetch a page from the web and keep it as a file.", `{"url":"the page"}`},
		{"gitDiff", "Show changes that are not committed.", ""},
		{"rg", "Search files by a regular expression.", `{"pattern":"the expression"}`},
	}
	for query, want := range map[string][]string{
		"":                       {"read_file", "edit_file", "web_fetch", "gitDiff", "rg"},
		"the":                    {"read_file", "edit_file", "web_fetch", "gitDiff", "rg"},
		"replace text in a file": {"edit_file", "read_file", "rg", "web_fetch"},
		"git diff":               {"gitDiff"},
		"search":                 {"rg"},
		"searching":              {"rg"},
		"URL":                    {"web_fetch"},
		"bake a cake":            nil,
		"read file":              {"read_file", "edit_file", "rg", "web_fetch"},
	} {
		var names []string
		for _, i := range rank.Best(query, documents) {
			names = append(names, documents[i].Name)
		}
		if len(want) > 0 && len(query) > 3 {
			assert.Equal(t, want[0], names[0], query)
			assert.ElementsMatch(t, want, names, query)
		} else {
			assert.Equal(t, want, names, query)
		}
	}
}
