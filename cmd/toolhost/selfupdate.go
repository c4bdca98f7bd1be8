package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/installation"
	"github.com/toolhost/toolhost/internal/newer"
	"github.com/toolhost/toolhost/internal/show"
)

// updateReport is what self-update --check --json prints.
type updateReport struct {
	Current string `json:"current"`
	Latest  string `json:"latest"`
	Newer   bool   `json:"newer"`
	Page    string `json:"page,omitempty"`
	Next    string `json:"next,omitempty"`
}

func (a *app) selfUpdateCommand() *cobra.Command {
	var check, asJSON bool
	c := &cobra.Command{
		Use:   "self-update --check",
		Short: "Say whether a newer version exists, where you said who knows",
		Long: `Say whether a newer version of toolhost exists. Only this command asks, and only
the file or the https address that the file update-source in toolhost's directory of
your configuration names. It has to say {"version": "v1.2.3"}, as JSON; the answers of
GitHub for a latest release and of Go's module mirrors will do. An agent.hcl cannot
name one. Nothing is downloaded or replaced: what you installed with updates it.`,
		Example: `  toolhost self-update --check
  toolhost self-update --check --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !check {
				return usagef("Write toolhost self-update --check.",
					"toolhost does not replace itself; it only says whether a newer version exists")
			}
			report, err := checkForUpdate(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeIndented(a.out, report)
			}
			fmt.Fprintln(a.out, report.text())
			return nil
		},
	}
	c.Flags().BoolVar(&check, "check", false, "look for a newer version")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}

func checkForUpdate(ctx context.Context) (*updateReport, error) {
	source, file, err := newer.Source()
	if err != nil {
		return nil, err
	}
	if source == "" {
		return nil, usagef("Write the absolute path of a file, or an address that begins with https://, into "+file+".",
			"it is not known where newer versions are announced")
	}
	latest, err := newer.Ask(ctx, source)
	if err != nil {
		return nil, err
	}
	own := buildinfo.Read()
	report := &updateReport{Current: own.Version, Latest: latest.Version, Page: latest.Page}
	if report.Newer = semver.Compare(latest.Version, own.Version) > 0; report.Newer {
		channel, _ := installation.Installed()
		report.Next = channel.Update(latest.Version)
	}
	return report, nil
}

func (r *updateReport) text() string {
	if !r.Newer {
		return fmt.Sprintf("There is no newer version than this one, toolhost %s.", r.Current)
	}
	text := fmt.Sprintf("toolhost %s exists; this is %s.\n", show.Line(r.Latest), r.Current)
	if r.Page != "" {
		text += show.Line(r.Page) + "\n"
	}
	return text + r.Next
}
