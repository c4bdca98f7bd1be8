package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/buildinfo"
)

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the commit that it was built from",
		Example: `  toolhost version
  toolhost version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := buildinfo.Read()
			if asJSON {
				return writeIndented(a.out, info)
			}
			if _, err := fmt.Fprintf(a.out, "toolhost %s (%s, %s)\n", info.Version, info.Go, info.Platform); err != nil {
				return err
			}
			if info.Commit == "" {
				_, err := fmt.Fprintln(a.out, "commit not known: it was built without git")
				return err
			}
			commit := info.Commit
			if info.Modified {
				commit += ", with changes that were not committed"
			}
			_, err := fmt.Fprintf(a.out, "commit %s\nof %s\n", commit, info.Date)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}

// version is that of the program.
func version() string { return buildinfo.Read().Version }
