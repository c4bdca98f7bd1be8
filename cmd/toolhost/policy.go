package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/project"
)

func (a *app) explainCommand() *cobra.Command {
	var flags callFlags
	c := &cobra.Command{
		Use:   "explain TOOL [key=value ...]",
		Short: "Show whether a call would be allowed, and by which rule",
		Long: `Show whether a call would be allowed and by which rule, and the call as an approver
would see it. Nothing is run.`,
		Example: `  toolhost explain write_file path=a.txt content=hi
  toolhost explain rm args="-r build" --json`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeCall,
		RunE: a.inProject(func(c *cobra.Command, args []string, p *project.Project) error {
			p.LoadFor(c.Context(), args[0])
			params, err := a.readParams(c.Context(), p.Host, flags, args[0], args[1:])
			if err != nil {
				return err
			}
			proposal, err := p.Host.Session("cli").Propose(c.Context(), host.Request{Tool: args[0], Params: params})
			if code := tool.CodeOf(err); code == tool.NotFound || code == tool.InvalidArgument {
				return usage(err) // as in call
			}
			if err != nil {
				return err
			}
			decision := p.Decide(*proposal)
			if flags.json {
				return writeIndented(a.out, decision)
			}
			for line := range strings.Lines(decision.Explain()) {
				fmt.Fprintln(a.out, noted(a.out, line, 2))
			}
			if entry, err := p.Host.Catalog().Lookup(args[0]); err == nil {
				a.describeReach(p, entry)
			}
			return a.explainCall(c.Context(), p, host.Request{Tool: args[0], Params: params})
		}),
	}
	c.Flags().StringVar(&flags.params, "params", "", "the parameter object: JSON, @FILE or - for stdin")
	c.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	a.toolsetFlag(c)
	return c
}

// explainCall shows the call as the approver sees it.
func (a *app) explainCall(ctx context.Context, p *project.Project, request host.Request) error {
	outcome, err := p.Host.Session("cli").Preview(ctx, request)
	if err != nil {
		fmt.Fprintln(a.out, noted(a.out, "What it would do is not known: "+err.Error(), 2))
		return nil
	}
	q := outcome.Question()
	q.Reason = "" // already shown
	fmt.Fprintln(a.out)
	return a.page(ctx, a.out, q.Body(cmp.Or(terminalWidth(a.out), show.Width)))
}

func (a *app) rulesCommand() *cobra.Command {
	c := &cobra.Command{Use: "rules", Short: "List and change the remembered rules of this workspace"}
	c.AddCommand(a.rulesListCommand(), a.rulesAddCommand(), a.rulesRemoveCommand())
	return c
}

// withRules opens the project and its remembered rules.
func (a *app) withRules(c *cobra.Command, do func(*policy.Remembered) error) error {
	p, err := a.open(c.Context())
	if err != nil {
		return err
	}
	defer p.Close()
	remembered, err := p.Remembered()
	if err != nil {
		return err
	}
	return do(remembered)
}

func (a *app) rulesListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the remembered rules",
		Example: `  toolhost rules list`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withRules(c, func(r *policy.Remembered) error {
				rules, err := r.List()
				if err != nil {
					return err
				}
				if asJSON {
					return writeIndented(a.out, append([]policy.Rule{}, rules...))
				}
				if len(rules) == 0 {
					fmt.Fprintln(a.err, "No rules are remembered for this workspace; those of agent.hcl hold, and "+
						"toolhost explain says which.")
					return nil
				}
				return a.writeTable(func(out *bufio.Writer) { listRules(out, rules) })
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func listRules(out io.Writer, rules []policy.Rule) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tACTION\tTOOL\tMATCHES\tUNTIL")
	for _, rule := range rules {
		named, matches := cmp.Or(rule.Tool, "*"), cmp.Or(rule.Params, rule.Command, reaching(rule.Host), "every call")
		if rule.Toolset != nil && *rule.Toolset != "" {
			named += " of " + *rule.Toolset
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", show.Line(rule.Name), rule.Action, show.Line(named), show.Line(matches),
			lasting(rule.Expires))
	}
	_ = w.Flush()
}

// reaching describes a rule about a connection, "" for others.
func reaching(to string) string {
	if to == "" {
		return ""
	}
	return "connections to " + to
}

// lasting returns when a rule ends, for people.
func lasting(until time.Time) string {
	if until.IsZero() {
		return "removed"
	}
	return until.Local().Format("2006-01-02 15:04")
}

func (a *app) rulesAddCommand() *cobra.Command {
	var rule policy.Rule
	var action, risk, permission string
	var lasts time.Duration
	var replace, asJSON bool
	c := &cobra.Command{
		Use:     "add NAME",
		Short:   "Add a remembered rule",
		Example: `  toolhost rules add tests --tool run_in_terminal --command 'go test *' --action allow --for 24h`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			rule.Name, rule.Action, rule.Risk, rule.Permission = args[0], policy.Action(action), tool.Risk(risk),
				tool.Permission(permission)
			if lasts > 0 {
				rule.Expires = time.Now().Add(lasts).UTC().Truncate(time.Second)
			}
			if _, err := policy.New(policy.Rules{Rules: []policy.Rule{rule}}); err != nil {
				return usage(err)
			}
			return a.withRules(c, func(r *policy.Remembered) error {
				if !replace && r.Has(rule.Name) {
					return tool.Errorf(tool.AlreadyExists, "there is already a rule %q", rule.Name).
						Suggest("Choose another name, or add --replace. toolhost rules list shows the existing rule.")
				}
				if err := r.Add(rule); err != nil {
					return err
				}
				if asJSON {
					return writeIndented(a.out, rule)
				}
				fmt.Fprintf(a.err, "Added the rule %q: %s, until %s.\n", rule.Name, rule.Action, lasting(rule.Expires))
				return nil
			})
		},
	}
	f := c.Flags()
	f.StringVar(&action, "action", "allow", "allow, review, ask or deny")
	f.StringVar(&rule.Tool, "tool", "", "the tool; * stands for any characters")
	a.completeFrom(c, "tool", catalogNames)
	f.StringVar(&rule.Params, "params", "",
		"a regular expression matched against the parameters, as compact JSON with sorted keys")
	f.StringVar(&rule.Command, "command", "", "the words of the command; * at the end matches any further words")
	completeFlag(c, "action", "allow", "review", "ask", "deny")
	f.StringVar(&risk, "risk", "", "read_only, safe_write or dangerous")
	completeFlag(c, "risk", "read_only", "safe_write", "dangerous")
	f.StringVar(&permission, "permission", "", "file_read, file_write, shell_exec, network, ...")
	f.StringVar(&rule.Reason, "reason", "", "the reason to show when the rule stops a call")
	f.DurationVar(&lasts, "for", 0, "how long the rule lasts; 0 is until it is removed")
	f.BoolVar(&replace, "replace", false, "replace an existing rule of the same name")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) rulesRemoveCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:               "remove NAME",
		Short:             "Remove a remembered rule",
		Example:           `  toolhost rules remove tests`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRule,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withRules(c, func(r *policy.Remembered) error {
				if err := r.Remove(args[0]); err != nil {
					return unknownName(true, err)
				}
				if asJSON {
					return writeIndented(a.out, map[string]string{"removed": args[0]})
				}
				fmt.Fprintf(a.err, "Removed the rule %q.\n", args[0])
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
