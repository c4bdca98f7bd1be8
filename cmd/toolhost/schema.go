package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/export"
)

func (a *app) schemaCommand() *cobra.Command {
	var format string
	names := make([]string, 0, len(export.Formats()))
	for _, f := range export.Formats() {
		names = append(names, string(f))
	}
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the tools as function schemas for a model API",
		Example: `  toolhost schema --format openai
  toolhost schema --toolset ocode --format ollama`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			a.patience = listPatience
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			var defs []*tool.Definition
			for _, e := range p.Host.Catalog().Entries() {
				defs = append(defs, e.Definition())
			}
			out, err := export.Definitions(export.Format(format), defs, a.toolset().Forms[format])
			if err != nil {
				return usage(err)
			}
			_, err = a.out.Write(out)
			return err
		},
	}
	c.Flags().StringVar(&format, "format", "mcp", "one of "+strings.Join(names, ", "))
	completeFlag(c, "format", names...)
	a.toolsetFlag(c)
	return c
}
