package main

import (
	"fmt"
	"path/filepath"

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
	var asJSON bool
	c := &cobra.Command{Use: "keys", Short: "List the keys of a hub, add one, revoke one", Args: cobra.NoArgs,
		Example: "  toolhost fleet keys\n  toolhost fleet keys --json",
		RunE: func(*cobra.Command, []string) error {
			keys, err := hub.OpenKeys(filepath.Join(store, "keys"))
			if err != nil {
				return err
			}
			var rows []row
			for _, key := range keys.List() {
				state := ""
				if key.Revoked {
					state = "revoked"
				}
				rows = append(rows, row{fmt.Sprintf("%s\t%s\t%s\t%s", key.Name, key.Role, key.Public, state),
					map[string]any{"name": key.Name, "role": key.Role, "public_key": key.Public, "revoked": key.Revoked}})
			}
			return print(rows, "NAME\tROLE\tPUBLIC KEY\t", asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	c.PersistentFlags().StringVar(&store, "store", defaultStore(), "the hub's data directory")
	var role string
	add := &cobra.Command{Use: "add NAME", Short: "Create a key and print the path of its file", Args: cobra.ExactArgs(1),
		Example: "  toolhost fleet keys add build7\n  toolhost fleet keys add anna --role operator",
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
		Example: "  toolhost fleet keys revoke build7", Args: cobra.ExactArgs(1),
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
