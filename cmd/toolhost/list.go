package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

type listed struct {
	Name        string            `json:"name"`
	Source      string            `json:"source"`
	Risk        tool.Risk         `json:"risk"`
	Permissions []tool.Permission `json:"permissions"`
	Description string            `json:"description"`
	// Tokens estimates the definition's part of a model's context.
	Tokens int `json:"approx_tokens"`
	// Unavailable is why a call would fail now, if known.
	Unavailable string `json:"unavailable,omitempty"`
}

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tools: name, source, risk, one line each",
		Example: `  toolhost list
  toolhost list --toolset clemini
  toolhost list --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			a.patience = listPatience
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			if asJSON {
				return a.listJSON(p.Host.Catalog())
			}
			return a.listHuman(p.Host.Catalog())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.toolsetFlag(c)
	return c
}

func (a *app) listJSON(catalog *host.Catalog) error {
	tools := []listed{}
	for _, e := range catalog.Entries() {
		def := e.Definition()
		tools = append(tools, listed{e.Name, e.Source, def.Risk, append([]tool.Permission{}, def.Permissions...),
			def.Description, tokensOf(def), unavailable(e)})
	}
	problems := []map[string]any{}
	for _, p := range catalog.Problems() {
		problems = append(problems, map[string]any{"source": p.Source, "error": p.Err})
	}
	left := []map[string]any{}
	for _, l := range catalog.LeftOut() {
		left = append(left, map[string]any{"name": l.Name, "source": l.Source, "error": l.Err})
	}
	warnings := []map[string]any{}
	for _, w := range catalog.Warnings() {
		warnings = append(warnings, map[string]any{"name": w.Name, "source": w.Source, "error": w.Err})
	}
	return writeIndented(a.out, map[string]any{
		"tools": tools, "resources": listedResources(catalog), "prompts": listedPrompts(catalog), "problems": problems,
		"left_out": left, "warnings": warnings,
	})
}

func (a *app) listHuman(catalog *host.Catalog) error {
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	rows := make([][4]string, 1, 1+len(catalog.Entries()))
	rows[0] = [4]string{"NAME", "SOURCE", "RISK", "DESCRIPTION"}
	tokens := 0
	for _, e := range catalog.Entries() {
		def := e.Tool.Definition()
		tokens += tokensOf(e.Definition())
		rows = append(rows, [4]string{e.Name, e.Source, string(def.Risk), summary(def.Description)})
	}
	writeRows(out, rows)
	if err := errors.Join(listOffers(out, catalog), out.Flush()); err != nil {
		return err
	}
	if err := writeFitting(a.out, text.Bytes(), terminalWidth(a.out)); err != nil {
		return err
	}
	if isTerminal(a.out) {
		fmt.Fprintf(a.out, "%s, about %d tokens of a model's context\n", counted(len(rows)-1, "tool"), tokens)
	}
	a.listUnavailable(catalog)
	for _, p := range catalog.Problems() {
		fmt.Fprintf(a.err, "%s %s gives no tools: %s\n  %s\n", a.painter.yellow("!"), p.Source,
			show.Text(indented(p.Err.Message)), show.Text(indented(p.Err.Suggestion)))
	}
	for _, l := range slices.Concat(catalog.LeftOut(), catalog.Warnings()) {
		fmt.Fprintf(a.err, "%s %s\n  %s\n", a.painter.yellow("!"), show.Line(l.Err.Message),
			show.Line(l.Err.Suggestion))
	}
	return nil
}

// writeRows writes columns as a tabwriter would, a hundred times as fast.
func writeRows(out *bufio.Writer, rows [][4]string) {
	var widths [3]int
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		for i, width := range widths {
			out.WriteString(row[i])
			for range width + 2 - utf8.RuneCountInString(row[i]) {
				out.WriteByte(' ')
			}
		}
		out.WriteString(row[3])
		out.WriteByte('\n')
	}
}

// summary returns a description's first sentence, safe for a terminal.
func summary(description string) string {
	line, _, _ := strings.Cut(description, "\n")
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i+1]
	}
	return show.Line(line)
}

// tokensOf estimates a definition's tokens: four bytes of JSON each.
func tokensOf(def *tool.Definition) int {
	const bytesPerToken = 4
	return (len(def.Name) + len(def.Description) + len(def.Parameters)) / bytesPerToken
}

func unavailable(e *host.Entry) string {
	if u, ok := e.Tool.(interface{ Unavailable() *tool.Error }); ok {
		if err := u.Unavailable(); err != nil {
			return err.Message
		}
	}
	return ""
}

// listUnavailable prints, once for each source, why its tools would fail now.
func (a *app) listUnavailable(catalog *host.Catalog) {
	told := make(map[string]bool)
	for _, e := range catalog.Entries() {
		if why := unavailable(e); why != "" && !told[e.Source] {
			told[e.Source] = true
			fmt.Fprintf(a.err, "%s %s is unavailable: %s\n", a.painter.yellow("!"), e.Source, show.Text(indented(why)))
		}
	}
}
