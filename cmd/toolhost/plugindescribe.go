package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/text/jsontext"
)

type described struct {
	*plugins.Description
	// Asked are the permissions that the tools need, Granted those that the plugin's block grants;
	// Refused are the tools that need others.
	Asked   []tool.Permission `json:"permissions_asked"`
	Granted []tool.Permission `json:"permissions_granted"`
	Refused []string          `json:"tools_refused"`
	Network bool              `json:"network"`
	Hosts   []string          `json:"hosts,omitempty"`
	Read    []string          `json:"read,omitempty"`
	Write   []string          `json:"write,omitempty"`
}

func (a *app) pluginDescribeCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show a plugin's tools, requested and granted permissions, and configuration",
		Example:           `  toolhost plugin describe weather`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeDeclared(pluginNames),
		RunE: a.inProject(func(c *cobra.Command, args []string, p *project.Project) error {
			d, err := p.Plugins().Source(args[0]).Describe(c.Context())
			if err != nil {
				return unknownName(!slices.ContainsFunc(p.Config().Plugins,
					func(declared config.Plugin) bool { return declared.Name == args[0] }), err)
			}
			out := grants(p, args[0], d)
			if asJSON {
				return writeIndented(a.out, out)
			}
			a.showPlugin(out)
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// grants compares what a plugin asks for with what agent.hcl grants.
func grants(p *project.Project, name string, d *plugins.Description) described {
	out := described{Description: d, Asked: asked(d.Tools), Refused: []string{}}
	out.Granted = out.Asked // a shipped plugin gets what it asks for
	i := slices.IndexFunc(p.Config().Plugins, func(c config.Plugin) bool { return c.Name == name })
	if i < 0 {
		return out
	}
	block := p.Config().Plugins[i]
	out.Network, out.Hosts = block.Access.Network, block.Access.Hosts
	out.Read, out.Write = block.Access.Read, block.Access.Write
	if block.Permissions == nil {
		return out
	}
	out.Granted = block.Permissions
	for _, def := range d.Tools {
		if slices.ContainsFunc(def.Permissions,
			func(wanted tool.Permission) bool { return !slices.Contains(out.Granted, wanted) }) {
			out.Refused = append(out.Refused, def.Name)
		}
	}
	return out
}

func asked(defs []*tool.Definition) []tool.Permission {
	all := []tool.Permission{}
	for _, def := range defs {
		all = append(all, def.Permissions...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (a *app) showPlugin(d described) {
	fmt.Fprintf(a.out, "%s %s\n", a.painter.bold(d.Name), d.Version)
	fmt.Fprintf(a.out, "  asks for: %s\n", cmp.Or(joinPermissions(d.Asked), "nothing"))
	fmt.Fprintf(a.out, "  granted:  %s\n", cmp.Or(joinPermissions(d.Granted), "nothing"))
	var sandbox []string
	if d.Network {
		sandbox = append(sandbox, "network")
	}
	for _, host := range d.Hosts {
		sandbox = append(sandbox, "reaching "+host)
	}
	for _, path := range d.Read {
		sandbox = append(sandbox, "reading "+path)
	}
	for _, path := range d.Write {
		sandbox = append(sandbox, "writing "+path)
	}
	if sandbox != nil {
		fmt.Fprintf(a.out, "  sandbox:  %s\n", strings.Join(sandbox, ", "))
	}
	for _, def := range d.Tools {
		refused := ""
		if slices.Contains(d.Refused, def.Name) {
			refused = "; " + a.painter.yellow("refused")
		}
		fmt.Fprintf(a.out, "\n  %s (%s; needs %s%s)\n    %s\n", a.painter.bold(def.Name), def.Risk,
			cmp.Or(joinPermissions(def.Permissions), "nothing"), refused, show.Text(indented(def.Description)))
	}
	if len(d.ConfigSchema) > 0 {
		fmt.Fprintf(a.out, "\nConfiguration:\n  %s\n", jsontext.Compact(d.ConfigSchema))
	}
}
