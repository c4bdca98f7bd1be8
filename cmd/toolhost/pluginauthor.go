package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/source/plugins/conformance"
	"github.com/toolhost/toolhost/internal/source/plugins/scaffold"
)

func (a *app) pluginNewCommand() *cobra.Command {
	var options scaffold.Options
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a plugin: a Go module with a tool, a test and a README",
		Long: `Create a plugin: a Go module with a tool, a test and a README.

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
						"this toolhost (%s) is not a release, so its SDK cannot be downloaded", version())
				}
			}
			dir, err := scaffold.Write(c.Context(), options)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Wrote %s. Next: toolhost plugin install %s\n", dir,
				show.Word("./"+strings.TrimPrefix(dir, "./")))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&options.Dir, "dir", "", "the directory to create (default: ./NAME)")
	f.StringVar(&options.Module, "module", "", "the path of the Go module (default: example.org/toolhost-plugin-NAME)")
	f.StringVar(&options.SDK, "sdk", "", "a checkout of toolhost whose SDK is to be used")
	f.StringVar(&options.Version, "sdk-version", "",
		"the published version of the SDK (default: that of this toolhost)")
	return c
}

// released returns a version that can be downloaded, "" for a build from a checkout.
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
		Short: "Check that a program in any language follows the plugin protocol",
		Long: `Check that a program in any language follows the plugin protocol.

The program is started several times, unconfined, in an empty directory. The examples
of its read-only tools are called; with --all, those of all tools. The exit code is 0
if no check failed, else 1.`,
		Example: `  toolhost plugin test ./toolhost-plugin-hello
  toolhost plugin test --all --plugin-config '{"units":"metric"}' ./main.js`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			options.Path, options.Args = args[0], args[1:]
			if config != "" && !json.Valid([]byte(config)) {
				return usagef("Give a JSON object.", "--plugin-config is not valid JSON")
			}
			options.Config = json.RawMessage(config)
			report, err := conformance.Run(c.Context(), options)
			if err != nil {
				return usage(err)
			}
			if asJSON {
				err = writeIndented(a.out, report)
			} else {
				err = a.printReport(report)
			}
			if err == nil && !report.OK() {
				err = &exitError{code: exitFailed}
			}
			return err
		},
	}
	f := c.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&options.All, "all", false, "call the examples of all tools, including those that write")
	f.StringVar(&config, "plugin-config", "", "the plugin's configuration, a JSON object")
	f.DurationVar(&options.Timeout, "timeout", 10*time.Second, "how long each step may take")
	return c
}

// printReport prints a line for each check and one with their counts. Checks skipped because the plugin
// does not start are only counted.
func (a *app) printReport(r *conformance.Report) error {
	marks := map[conformance.Outcome]string{
		conformance.Pass: a.painter.green("✓"), conformance.Fail: a.painter.red("✗"), conformance.Skip: a.painter.dim("-"),
	}
	for _, c := range r.Checks {
		if r.Protocol == 0 && c.Outcome == conformance.Skip {
			continue
		}
		fmt.Fprintf(a.out, "%s %-22s %s\n", marks[c.Outcome], c.Name, c.Wants)
		if c.Detail != "" {
			fmt.Fprintf(a.out, "  %-22s %s\n", "", show.Text(strings.ReplaceAll(c.Detail, "\n", "\n"+strings.Repeat(" ", 25))))
		}
	}
	name := "it does not start as a plugin"
	if r.Protocol != 0 {
		name = fmt.Sprintf("%s %s, protocol %d", show.Line(cmp.Or(r.Plugin, "?")), show.Line(r.Version), r.Protocol)
	}
	_, err := fmt.Fprintf(a.out, "%s: %d passed, %d failed, %d skipped\n", name, r.Passed, r.Failed, r.Skipped)
	return err
}
