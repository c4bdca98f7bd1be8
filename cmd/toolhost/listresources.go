package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// listedResource is a resource in the JSON of toolhost list.
type listedResource struct {
	Name        string `json:"name"`
	URI         string `json:"uri"`
	Template    bool   `json:"template"`
	Source      string `json:"source"`
	MIMEType    string `json:"mime_type,omitempty"`
	Description string `json:"description"`
}

func listedResources(catalog *host.Catalog) []listedResource {
	all := []listedResource{}
	for _, e := range catalog.Resources() {
		def := e.Tool.(tool.Resource).Resource()
		all = append(all, listedResource{def.Name, def.URI, def.Template, e.Source, def.MIMEType, def.Description})
	}
	return all
}

type listedPrompt struct {
	Name        string   `json:"name"`
	Source      string   `json:"source"`
	Arguments   []string `json:"arguments"`
	Description string   `json:"description"`
}

func listedPrompts(catalog *host.Catalog) []listedPrompt {
	all := []listedPrompt{}
	for _, e := range catalog.Prompts() {
		def := e.Tool.(tool.Prompt).Prompt()
		arguments := []string{}
		for _, a := range def.Arguments {
			arguments = append(arguments, a.Name)
		}
		all = append(all, listedPrompt{def.Name, e.Source, arguments, def.Description})
	}
	return all
}

// listOffers lists resources and prompts for people, below the tools.
func listOffers(out io.Writer, catalog *host.Catalog) error {
	if len(catalog.Resources())+len(catalog.Prompts()) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if resources := listedResources(catalog); len(resources) > 0 {
		fmt.Fprintln(w, "\nRESOURCE\tURI\tDESCRIPTION")
		for _, r := range resources {
			fmt.Fprintf(w, "%s\t%s\t%s\n", show.Line(r.Name), show.Line(r.URI), summary(r.Description))
		}
	}
	if prompts := listedPrompts(catalog); len(prompts) > 0 {
		fmt.Fprintln(w, "\nPROMPT\tARGUMENTS\tDESCRIPTION")
		for _, p := range prompts {
			fmt.Fprintf(w, "%s\t%s\t%s\n", show.Line(p.Name), show.Line(strings.Join(p.Arguments, ", ")),
				summary(p.Description))
		}
	}
	return w.Flush()
}
