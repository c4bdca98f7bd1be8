package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/fleet/internal/gateway"
	"github.com/toolhost/toolhost/fleet/internal/hub"
)

// fleetWithin limits how long a question to the fleet may take.
const fleetWithin = 15 * time.Second

// asGateway runs do with a gateway's view of the fleet.
func (a *app) asGateway(ctx context.Context, flags *linkFlags, do func(context.Context, *gateway.Gateway) error) error {
	if flags.url == "" {
		flags.url = "nats://127.0.0.1:4222"
	}
	link, _, err := flags.link(hub.RoleGateway)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fleetWithin)
	defer cancel()
	g, err := gateway.Observe(ctx, gateway.Options{Link: link, Logger: a.logger})
	if err != nil {
		return err
	}
	defer g.Close()
	return do(ctx, g)
}

func (a *app) workersCommand() *cobra.Command {
	return a.listing("workers", "List the workers that are alive",
		"WORKER\tSTATE\tSLOTS\tRUNNING\tQUEUED\tSESSIONS\tLABELS",
		func(_ context.Context, g *gateway.Gateway) ([]row, error) {
			var rows []row
			for name, b := range g.Workers() {
				state := "ready"
				if b.Cordoned {
					state = "cordoned"
				}
				if b.Draining {
					state = "draining"
				}
				var labels []string
				for label, value := range b.Labels {
					labels = append(labels, label+"="+value)
				}
				slices.Sort(labels)
				rows = append(rows,
					row{fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%s", name, state, b.Slots, b.Running, b.Queued,
						b.Sessions, strings.Join(labels, ",")),
						map[string]any{"worker": name, "state": state, "beat": b}})
			}
			return rows, nil
		})
}

func (a *app) sessionsCommand() *cobra.Command {
	return a.listing("sessions", "List the sessions", "SESSION\tTENANT\tWORKSPACE\tWORKER\tEPOCH\tCREATED\tPACKED",
		func(ctx context.Context, g *gateway.Gateway) ([]row, error) {
			all, err := g.Sessions(ctx)
			var rows []row
			for key, r := range all {
				packed := "-"
				if !r.Packed.IsZero() {
					packed = r.Packed.UTC().Format(time.RFC3339)
				}
				worker := string(r.Worker)
				if worker == "" {
					worker = "-"
				}
				rows = append(rows,
					row{fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s\t%s", key, r.Tenant, r.Workspace.Name, worker, r.Epoch,
						r.Created.UTC().Format(time.RFC3339), packed),
						map[string]any{"session": key, "tenant": r.Tenant,
							"workspace": r.Workspace.Name, "worker": r.Worker, "epoch": r.Epoch, "created": r.Created,
							"pack": r.Pack}})
			}
			return rows, err
		})
}

func (a *app) callsCommand() *cobra.Command {
	return a.listing("calls", "List the calls that the hub keeps", "SESSION\tWORKER\tTOOL\tSTATE\tAT",
		func(ctx context.Context, g *gateway.Gateway) ([]row, error) {
			all, err := g.Calls(ctx)
			var rows []row
			for _, c := range all {
				rows = append(rows, row{fmt.Sprintf("%s\t%s\t%s\t%s\t%s", c.Session, c.Worker, c.Tool, c.State,
					c.At.UTC().Format(time.RFC3339)), c})
			}
			return rows, err
		})
}

// row is a line of a table, and its form for programs.
type row struct {
	text string
	data any
}

func (a *app) listing(name, short, head string,
	list func(context.Context, *gateway.Gateway) ([]row, error)) *cobra.Command {
	var link linkFlags
	var asJSON bool
	example := "  toolhost fleet " + name
	c := &cobra.Command{Use: name, Short: short, Example: example + "\n" + example + " --json", Args: cobra.NoArgs}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.asGateway(c.Context(), &link, func(ctx context.Context, g *gateway.Gateway) error {
			rows, err := list(ctx, g)
			if err != nil {
				return err
			}
			slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.text, b.text) })
			return print(rows, head, asJSON)
		})
	}
	link.register(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return c
}

func print(rows []row, head string, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(os.Stdout)
		for _, r := range rows {
			if err := out.Encode(r.data); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for _, r := range rows {
		fmt.Fprintln(w, r.text)
	}
	return w.Flush()
}

func (a *app) steerCommands() (commands []*cobra.Command) {
	for _, c := range []struct{ use, short, example string }{
		{"drain WORKER", "Finish a worker's calls, move its sessions to other workers, and stop it", "drain build7"},
		{"cordon WORKER", "Stop assigning new sessions to a worker", "cordon build7"},
		{"uncordon WORKER", "Assign sessions to a worker again", "uncordon build7"},
		{"move SESSION", "Pack a session and take it from its worker; its next call assigns it to one again", "move k7f2"},
	} {
		var link linkFlags
		command := &cobra.Command{Use: c.use, Short: c.short, Args: cobra.ExactArgs(1),
			Example: "  toolhost fleet " + c.example,
			RunE: func(c *cobra.Command, args []string) error {
				return a.asGateway(c.Context(), &link, func(ctx context.Context, g *gateway.Gateway) error {
					return g.Steer(ctx, c.Name(), args[0])
				})
			}}
		link.register(command.Flags())
		commands = append(commands, command)
	}
	return commands
}
