package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/peer/plugins/conformance"
	"github.com/toolhost/toolhost/internal/peer/plugins/scaffold"
	"github.com/toolhost/toolhost/internal/show"
)

func (a *app) pluginNewCommand() *cobra.Command {
	var options scaffold.Options
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the beginnings of a plugin: a Go module with a tool, a test and a README",
		Long: `Write the beginnings of a plugin: a Go module with a tool, a test and a README.

The module takes the SDK in the version of this toolhost. With --sdk it takes that
of a checkout instead, through a replace line in its go.mod, and nothing is
downloaded: for a toolhost that was built from a checkout, or an SDK that you
change as well.`,
		Example: `  toolhost plugin new hello
  toolhost plugin new hello --sdk ~/src/toolhost`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			options.Name = args[0]
			if options.SDK == "" && options.Version == "" {
				if options.Version = released(version()); options.Version == "" {
					return usagef("Name a checkout with --sdk DIR, or a published version with --sdk-version v1.2.3.",
						"this toolhost (%s) is no release, so its SDK cannot be downloaded", version())
				}
			}
			dir, err := scaffold.Write(c.Context(), options)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Wrote %s. Next: toolhost plugin install ./%s\n", dir, strings.TrimPrefix(dir, "./"))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&options.Dir, "dir", "", "the directory to write (default: one of the plugin's name, here)")
	f.StringVar(&options.Module, "module", "", "the path of the Go module (default: example.org/toolhost-plugin-NAME)")
	f.StringVar(&options.SDK, "sdk", "", "a checkout of toolhost whose SDK is to be used")
	f.StringVar(&options.Version, "sdk-version", "",
		"the published version of the SDK (default: that of this toolhost)")
	return c
}

// released gives a version that can be downloaded, "" for that of a build from
// a checkout.
func released(version string) string {
	if regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*)?$`).MatchString(version) {
		return version
	}
	return ""
}

func (a *app) pluginTestCommand() *cobra.Command {
	var (
		asJSON  bool
		config  string
		options conformance.Options
	)
	c := &cobra.Command{
		Use:   "test PROGRAM [ARGS...]",
		Short: "Check that a program, in whatever language, is a plugin as the protocol asks for",
		Long: `Check that a program, in whatever language, is a plugin as the protocol asks for.

The program is run several times, unconfined, in an empty directory. The examples
of its tools are called: of those that only read, unless --all says otherwise.
The exit code is 0 when nothing failed, else 1.`,
		Example: `  toolhost plugin test ./toolhost-plugin-hello
  toolhost plugin test --all --plugin-config '{"units":"metric"}' ./main.js`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			options.Path, options.Args = args[0], args[1:]
			if config != "" && !json.Valid([]byte(config)) {
				return usagef("Give a JSON object.", "--plugin-config is no JSON")
			}
			options.Config = json.RawMessage(config)
			report, err := conformance.Run(c.Context(), options)
			if err != nil {
				return usage(err)
			}
			if err := a.showReport(report, asJSON); err != nil {
				return err
			}
			if !report.OK() {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON, for programs")
	f.BoolVar(&options.All, "all", false, "call the examples of all tools, of those that write too")
	f.StringVar(&config, "plugin-config", "", "the plugin's configuration, a JSON object")
	f.DurationVar(&options.Timeout, "timeout", 10*time.Second, "how long each step may take")
	return c
}

func (a *app) showReport(r *conformance.Report, asJSON bool) error {
	if asJSON {
		return writeIndented(a.out, r)
	}
	marks := map[conformance.Outcome]string{
		conformance.Pass: a.painter.green("✓"), conformance.Fail: a.painter.red("✗"),
		conformance.Skip: a.painter.dim("-"),
	}
	for _, c := range r.Checks {
		if r.Protocol == 0 && c.Outcome == conformance.Skip {
			continue // all for the one reason that the plugin does not start
		}
		fmt.Fprintf(a.out, "%s %-22s %s\n", marks[c.Outcome], c.Name, c.Wants)
		if c.Detail != "" {
			fmt.Fprintf(a.out, "  %-22s %s\n", "",
				show.Text(strings.ReplaceAll(c.Detail, "\n", "\n  "+strings.Repeat(" ", 23))))
		}
	}
	if r.Protocol == 0 {
		_, err := fmt.Fprintf(a.out, "it does not start as a plugin: %d passed, %d failed, %d not tried\n", r.Passed,
			r.Failed, r.Skipped)
		return err
	}
	_, err := fmt.Fprintf(a.out, "%s %s, protocol %d: %d passed, %d failed, %d skipped\n",
		cmp.Or(r.Plugin, "?"), r.Version, r.Protocol, r.Passed, r.Failed, r.Skipped)
	return err
}
