package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/atomicfile"
	"github.com/toolhost/toolhost/host/docpages"
	"github.com/toolhost/toolhost/host/tool"
)

func (a *app) docsCommand() *cobra.Command {
	var dir string
	var check bool
	c := &cobra.Command{
		Use:   "docs",
		Short: "Write a Markdown page for each tool, from its definition",
		Long: `Write a Markdown page for each tool, from its definition, and README.md as their
index. The same tools always give the same text; --check only tells whether the
pages are as they would be written. Pages of tools that are gone stay.`,
		Example: `  toolhost docs
  toolhost docs --out docs/tools --check`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			var tools []docpages.Tool
			for _, e := range p.Host.Catalog().Entries() {
				tools = append(tools, docpages.Tool{Definition: e.Definition(), Source: e.Source})
			}
			return a.writePages(dir, docpages.Pages("Tools", tools), check)
		},
	}
	c.Flags().StringVar(&dir, "out", filepath.Join("docs", "tools"), "the directory to write")
	c.Flags().BoolVar(&check, "check", false, "write nothing; fail when a page differs")
	a.toolsetFlag(c)
	return c
}

func (a *app) writePages(dir string, pages map[string][]byte, check bool) error {
	if !check {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", dir, err).Suggest("Name another directory with --out.")
		}
	}
	changed := 0
	for _, name := range sortedNames(pages) {
		path := filepath.Join(dir, name)
		old, err := os.ReadFile(path)
		if err == nil && bytes.Equal(old, pages[name]) {
			continue
		}
		changed++
		if check {
			fmt.Fprintln(a.out, path)
		} else if err := atomicfile.Update(path, pages[name]); err != nil {
			return tool.Errorf(tool.Unavailable, "%s cannot be written: %w", path, err).Suggest("Name another directory with --out.")
		}
	}
	if check && changed > 0 {
		return &exitError{code: exitFailed}
	}
	if !check {
		fmt.Fprintf(a.out, "Wrote %d of %d pages to %s.\n", changed, len(pages), dir)
	}
	return nil
}
