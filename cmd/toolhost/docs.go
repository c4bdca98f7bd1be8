package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/docpages"
	"github.com/toolhost/toolhost/internal/project"
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
  toolhost docs --out docs/tools --check
  toolhost docs man ~/.local/share/man/man1`,
		Args: cobra.NoArgs,
		RunE: a.inProject(func(_ *cobra.Command, _ []string, p *project.Project) error {
			var tools []docpages.Tool
			for _, e := range p.Host.Catalog().Entries() {
				tools = append(tools, docpages.Tool{Definition: e.Definition(), Source: e.Source})
			}
			return a.writePages(dir, docpages.Pages("Tools", tools), check)
		}),
	}
	c.Flags().StringVar(&dir, "out", filepath.Join("docs", "tools"), "the directory to write")
	c.Flags().BoolVar(&check, "check", false, "write nothing; fail when a page differs")
	a.toolsetFlag(c)
	c.AddCommand(a.manCommand())
	return c
}

func (a *app) writePages(dir string, pages map[string][]byte, check bool) error {
	const otherwise = "Name another directory with --out."
	tree, err := openTree(dir)
	if err != nil {
		return notWritten(dir, err, otherwise)
	}
	defer tree.close()
	changed := 0
	for _, name := range sortedNames(pages) {
		if tree.same(name, pages[name]) {
			continue
		}
		changed++
		path := filepath.Join(dir, name)
		if check {
			fmt.Fprintln(a.out, path)
		} else if err := tree.write(name, pages[name], true); err != nil {
			return notWritten(path, err, otherwise)
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
