package main

import (
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/fleet/internal/hub"
)

func (a *app) fleetCommand() *cobra.Command {
	c := &cobra.Command{Use: "fleet", Short: "Show and manage a fleet"}
	c.AddCommand(a.sessionsCommand(), a.workersCommand(), a.callsCommand(), a.approveCommand(), a.keysCommand())
	c.AddCommand(a.steerCommands()...)
	return c
}

func (a *app) keysCommand() *cobra.Command {
	var store string
	c := &cobra.Command{Use: "keys", Short: "List the keys of a hub, add one, revoke one", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			keys, err := hub.OpenKeys(filepath.Join(store, "keys"))
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tROLE\tPUBLIC KEY\t")
			for _, key := range keys.List() {
				state := ""
				if key.Revoked {
					state = "revoked"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", key.Name, key.Role, key.Public, state)
			}
			return w.Flush()
		}}
	c.PersistentFlags().StringVar(&store, "store", defaultStore(), "the hub's data directory")
	var role string
	add := &cobra.Command{Use: "add NAME", Short: "Create a key and print the path of its file", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := hub.OpenKeys(filepath.Join(store, "keys"))
			if err != nil {
				return err
			}
			file, err := keys.Add(args[0], role)
			if err == nil {
				fmt.Println(file)
			}
			return err
		}}
	revoke := &cobra.Command{Use: "revoke NAME", Short: "Revoke a key and disconnect its users",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := hub.OpenKeys(filepath.Join(store, "keys"))
			if err != nil {
				return err
			}
			return keys.Revoke(args[0], role)
		}}
	for _, one := range []*cobra.Command{add, revoke} {
		one.Flags().StringVar(&role, "role", hub.RoleWorker, "worker, gateway or operator")
		c.AddCommand(one)
	}
	return c
}
