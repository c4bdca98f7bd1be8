// Command mcp-decisions is an MCP server over a directory of decision records:
// Markdown files with a number, a title and the reasons.
//
//	mcp-decisions docs/decisions
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type decision struct {
	Number string `json:"number"`
	Title  string `json:"title"`
}

type listed struct {
	Decisions []decision `json:"decisions"`
}

type record struct {
	Title   string `json:"title" jsonschema:"What was decided, in a sentence."`
	Reasons string `json:"reasons" jsonschema:"Why, in Markdown."`
}

// records is the directory.
type records string

func (dir records) list(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, listed, error) {
	names, err := filepath.Glob(filepath.Join(string(dir), "[0-9][0-9][0-9][0-9]-*.md"))
	if err != nil {
		return nil, listed{}, err
	}
	result := listed{Decisions: []decision{}}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, listed{}, err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(data), "# "), "\n")
		result.Decisions = append(result.Decisions, decision{filepath.Base(name)[:4], title})
	}
	return nil, result, nil
}

func (dir records) add(ctx context.Context, request *mcp.CallToolRequest, r record) (*mcp.CallToolResult, decision,
	error) {
	_, all, err := dir.list(ctx, request, struct{}{})
	if err != nil {
		return nil, decision{}, err
	}
	words := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(r.Title), "-")
	if words = strings.Trim(words[:min(len(words), 40)], "-"); words == "" || strings.ContainsAny(r.Title, "\r\n") {
		return nil, decision{}, fmt.Errorf("the title %q is not one line with letters for a file name", r.Title)
	}
	next := decision{fmt.Sprintf("%04d", len(all.Decisions)+1), r.Title}
	file, err := os.OpenFile(filepath.Join(string(dir), next.Number+"-"+words+".md"), os.O_WRONLY|os.O_CREATE|os.O_EXCL,
		0o644)
	if err != nil {
		return nil, decision{}, err
	}
	defer file.Close()
	_, err = fmt.Fprintf(file, "# %s\n\n%s\n", r.Title, strings.TrimSpace(r.Reasons))
	return nil, next, err
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: mcp-decisions DIRECTORY")
	}
	dir := records(os.Args[1])
	server := mcp.NewServer(&mcp.Implementation{Name: "decisions", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "list",
		Description: "List what was decided in this repository. Returns: an object with decisions, each with its number and title.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, dir.list)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "add",
		Description: "Write down a decision, under the next number. Returns: its number and title.",
	}, dir.add)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
