package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:   "man DIR",
		Short: "Write a manual page for each command",
		Long: `Write a manual page for each command into a directory, such as toolhost-call.1.
The same version always writes the same text.`,
		Example: `  toolhost docs man ~/.local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			pages := make(map[string][]byte)
			manPages(c.Root(), pages)
			return a.writePages(args[0], pages, check)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "write nothing; fail when a page differs")
	return c
}

// manPages writes the pages of c and all below it.
func manPages(c *cobra.Command, pages map[string][]byte) {
	if c.Hidden {
		return
	}
	pages[manName(c)+".1"] = []byte(manPage(c))
	for _, sub := range c.Commands() {
		manPages(sub, pages)
	}
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is the page of one command, as man(7) has it.
func manPage(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	page := new(roff)
	page.printf(".TH \"%s\" 1 \"\" \"toolhost %s\" \"toolhost\"\n", roffText(strings.ToUpper(manName(c))),
		roffText(version()))
	page.section("Name")
	page.printf("%s \\- %s\n", roffText(manName(c)), roffText(c.Short))
	page.section("Synopsis")
	page.printf(".B %s\n", roffText(c.CommandPath()))
	_, rest, _ := strings.Cut(c.UseLine(), c.CommandPath()+" ")
	if rest == "" && c.HasAvailableSubCommands() {
		rest = "COMMAND"
	}
	if rest != "" {
		page.line(rest)
	}
	page.section("Description")
	page.text(cmp.Or(c.Long, c.Short+"."))
	page.commands(c)
	page.options("Options", c.NonInheritedFlags())
	page.options("Options of every command", c.InheritedFlags())
	if c.Example != "" {
		page.section("Examples")
		page.verbatim(c.Example)
	}
	page.section("See also")
	page.line(manNeighbours(c))
	return page.String()
}

// manNeighbours names the pages around that of c.
func manNeighbours(c *cobra.Command) string {
	var names []string
	if c.HasParent() {
		names = append(names, manName(c.Parent())+"(1)")
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, manName(sub)+"(1)")
		}
	}
	return strings.Join(names, ", ")
}

// roff is a text in the language of manual pages.
type roff struct{ strings.Builder }

func (r *roff) printf(format string, args ...any) { fmt.Fprintf(r, format, args...) }

func (r *roff) line(text string) { r.printf("%s\n", roffText(text)) }

func (r *roff) section(title string) { r.printf(".SH %s\n", strings.ToUpper(title)) }

func (r *roff) verbatim(text string) {
	r.printf(".nf\n")
	for line := range strings.Lines(text) {
		r.line(strings.TrimRight(line, "\n"))
	}
	r.printf(".fi\n")
}

// text writes paragraphs. One whose lines are indented keeps them.
func (r *roff) text(text string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			r.printf(".PP\n")
		}
		if strings.HasPrefix(paragraph, "  ") {
			r.verbatim(paragraph)
			continue
		}
		for line := range strings.Lines(paragraph) {
			r.line(strings.TrimSpace(line))
		}
	}
}

func (r *roff) commands(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	r.section("Commands")
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			r.printf(".TP\n.B %s\n%s\n", roffText(sub.Name()), roffText(sub.Short))
		}
	}
}

func (r *roff) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	r.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\fB` + roffText("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roffText("-"+f.Shorthand) + `\fR, ` + name
		}
		if value != "" {
			name += ` \fI` + roffText(value) + `\fR`
		}
		r.printf(".TP\n%s\n%s\n", name, roffText(usage))
	})
}

var roffSpecial = regexp.MustCompile(`[\\.'-]`)

// roffText writes a text so that nothing in it is a command of roff.
func roffText(text string) string {
	text = roffSpecial.ReplaceAllStringFunc(text, func(c string) string {
		return map[string]string{`\`: `\e`, `-`: `\-`, `.`: `\&.`, `'`: `\(aq`}[c]
	})
	return strings.ReplaceAll(text, `"`, `\(dq`)
}
