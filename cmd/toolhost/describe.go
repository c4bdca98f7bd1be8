package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/source/command/standard"
	"github.com/toolhost/toolhost/internal/text/jsontext"
)

func (a *app) describeCommand() *cobra.Command {
	var asJSON, asHCL bool
	c := &cobra.Command{
		Use:   "describe TOOL",
		Short: "Show a tool's parameters, result and examples",
		Example: `  toolhost describe edit_file
  toolhost describe bash --toolset clemini
  toolhost describe --hcl head >> agent.hcl`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTool,
		RunE: func(c *cobra.Command, args []string) error {
			if asHCL {
				return a.describeBlock(args[0])
			}
			a.patience = listPatience
			p, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			entry, err := p.Host.Catalog().Lookup(args[0])
			if err != nil {
				return usage(err)
			}
			if asJSON {
				return writeIndented(a.out, struct {
					*tool.Definition
					Reaches string `json:"reaches,omitempty"`
				}{entry.Definition(), reachOf(p, entry)})
			}
			a.describe(entry)
			a.describeReach(p, entry)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the definition as JSON")
	c.Flags().BoolVar(&asHCL, "hcl", false, "print the block of a standard wrapper, to copy into agent.hcl and change")
	a.toolsetFlag(c)
	return c
}

func (a *app) describeBlock(name string) error {
	block := standard.Block(name)
	if block == nil {
		var names []string
		for _, spec := range standard.Specs() {
			names = append(names, spec.Name)
		}
		return usagef("The wrappers are "+strings.Join(names, ", ")+
			". Any other tool is replaced by a tool block of its name.",
			"%q is no standard wrapper, so there is no block of it to change", name)
	}
	_, err := a.out.Write(block)
	return err
}

// asWritten formats a duration as people write it: 2m, where Go writes 2m0s.
func asWritten(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if cut := strings.TrimSuffix(text, zero); strings.HasSuffix(cut, "m") || strings.HasSuffix(cut, "h") {
			text = cut
		}
	}
	return text
}

func (a *app) describe(e *host.Entry) {
	def := e.Definition()
	fmt.Fprintf(a.out, "%s  %s\n", a.painter.bold(def.Name), a.painter.dim("("+e.Source+", "+string(def.Risk)+")"))
	fmt.Fprintf(a.out, "\n%s\n", show.Text(def.Description))
	if len(def.Permissions) > 0 {
		fmt.Fprintf(a.out, "\nNeeds: %s\n", joinPermissions(def.Permissions))
	}
	if def.Timeout > 0 {
		fmt.Fprintf(a.out, "\nTimeout: %s\n", asWritten(def.Timeout))
	}
	a.describeParameters(def.Parameters)
	if len(def.Returns) > 0 {
		fmt.Fprintf(a.out, "\nResult schema:\n  %s\n", show.Text(jsontext.Compact(def.Returns)))
	}
	if len(def.Examples) > 0 {
		fmt.Fprintln(a.out, "\nExamples:")
	}
	command := "toolhost call"
	if a.flags.toolset != "" {
		command += " --toolset " + a.flags.toolset
	}
	for _, example := range def.Examples {
		if example.Description != "" {
			fmt.Fprintf(a.out, "  # %s\n", show.Text(example.Description))
		}
		fmt.Fprintf(a.out, "  %s %s --params '%s'\n", command, def.Name,
			strings.ReplaceAll(show.Text(jsontext.Compact(example.Params)), "'", `'\''`))
	}
}

func (a *app) describeReach(p *project.Project, e *host.Entry) {
	if reach := reachOf(p, e); reach != "" {
		fmt.Fprintf(a.out, "\nReaches: %s\n", show.Line(reach))
	}
}

// reachOf returns the hosts that a tool's processes reach, by its own block or its source's; "" if
// none.
func reachOf(p *project.Project, e *host.Entry) string {
	block := e.Source
	if kind, name, found := strings.Cut(e.Source, " "); found {
		block = kind + " " + strconv.Quote(name)
	}
	for _, reach := range p.Config().Reaches() {
		if reach.Block == "tool "+strconv.Quote(e.Name) || reach.Block == block {
			return reach.String()
		}
	}
	return ""
}

func joinPermissions(permissions []tool.Permission) string {
	names := make([]string, len(permissions))
	for i, p := range permissions {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

func (a *app) describeParameters(raw json.RawMessage) {
	var schema struct {
		Properties map[string]struct {
			Type        any             `json:"type"`
			Description string          `json:"description"`
			Default     json.RawMessage `json:"default"`
			Enum        []plainJSON     `json:"enum"`
			Items       struct {
				Type any `json:"type"`
			} `json:"items"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(raw, &schema)
	if len(schema.Properties) == 0 {
		fmt.Fprintln(a.out, "\nParameters: none")
		return
	}
	fmt.Fprintln(a.out, "\nParameters:")
	for _, name := range sortedNames(schema.Properties) {
		property := schema.Properties[name]
		facts := []string{cmp.Or(typeText(property.Type), "any")}
		if items := typeText(property.Items.Type); items != "" {
			facts[0] += " of " + items
		}
		if slices.Contains(schema.Required, name) {
			facts = append(facts, "required")
		}
		if property.Default != nil {
			facts = append(facts, "default "+jsontext.Compact(property.Default))
		}
		if len(property.Enum) > 0 {
			facts = append(facts, "one of "+strings.Join(plainTexts(property.Enum), ", "))
		}
		fmt.Fprintf(a.out, "  %s  %s\n", a.painter.bold(show.Text(name)),
			a.painter.dim("("+show.Text(strings.Join(facts, ", "))+")"))
		if property.Description != "" {
			fmt.Fprintf(a.out, "      %s\n", show.Text(property.Description))
		}
	}
}

func typeText(t any) string {
	if t == nil {
		return ""
	}
	if several, ok := t.([]any); ok {
		names := make([]string, len(several))
		for i, name := range several {
			names[i] = fmt.Sprint(name)
		}
		return strings.Join(names, " or ")
	}
	return fmt.Sprint(t)
}

// plainJSON prints a JSON string without quotes, other values unchanged.
type plainJSON string

// UnmarshalJSON implements json.Unmarshaler.
func (p *plainJSON) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(p))
	}
	*p = plainJSON(jsontext.Compact(data))
	return nil
}

func plainTexts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
