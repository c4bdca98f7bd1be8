package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/scaffold"
	"github.com/toolhost/toolhost/plugins/sdk"
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
						"this toolhost (%s) is no release, so its SDK cannot be downloaded", version())
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
		all     bool
		config  string
		timeout time.Duration
	)
	c := &cobra.Command{
		Use:   "test PROGRAM [ARGS...]",
		Short: "Start a program as a plugin, check its tools and call their examples",
		Long: `Start a program, in whatever language, as a plugin, check its tools, and call their
examples: those of tools that only read, unless --all says otherwise. It runs
unconfined, in an empty directory. The exit code is 0 when nothing failed, else 1.`,
		Example: `  toolhost plugin test ./toolhost-plugin-hello
  toolhost plugin test --all --plugin-config '{"units":"metric"}' ./main.js`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if config != "" && !json.Valid([]byte(config)) {
				return usagef("Give a JSON object.", "--plugin-config is no JSON")
			}
			name := strings.TrimPrefix(filepath.Base(path), "toolhost-plugin-")
			return a.testPlugin(c.Context(), plugins.Spec{Name: name, Path: path, Args: args[1:],
				Config: json.RawMessage(config), StartTimeout: timeout, CallTimeout: timeout}, all)
		},
	}
	f := c.Flags()
	f.BoolVar(&all, "all", false, "call the examples of all tools, of those that write too")
	f.StringVar(&config, "plugin-config", "", "the plugin's configuration, a JSON object")
	f.DurationVar(&timeout, "timeout", 10*time.Second, "how long the start and each call may take")
	return c
}

// testPlugin starts a plugin, and calls the examples of its tools through a host.
func (a *app) testPlugin(ctx context.Context, spec plugins.Spec, all bool) error {
	workspace, err := os.MkdirTemp("", "toolhost-plugin-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(workspace)
	manager := plugins.NewManager(plugins.Options{Logger: a.logger, Workspace: sdk.Workspace{Root: workspace},
		HostVersion: version()})
	defer manager.Close()
	if err := manager.Add(spec); err != nil {
		return usage(err)
	}
	h, err := host.New(ctx, host.Options{Root: workspace, Logger: a.logger,
		Sources: []host.Source{manager.Source(spec.Name)}})
	if err != nil {
		return err
	}
	passed, failed := 0, 0
	report := func(what string, err *tool.Error) {
		if err == nil {
			passed++
			fmt.Fprintf(a.out, "%s %s\n", a.painter.green("✓"), show.Line(what))
			return
		}
		failed++
		fmt.Fprintf(a.out, "%s %s: %s\n", a.painter.red("✗"), show.Line(what), show.Text(indented(err.Message)))
	}
	for _, problem := range h.Catalog().Problems() {
		report("start", problem.Err)
	}
	for _, left := range h.Catalog().LeftOut() {
		report(left.Name, left.Err)
	}
	for _, entry := range h.Catalog().Entries() {
		def := entry.Definition()
		if len(def.Examples) == 0 || !all && def.Risk != tool.ReadOnly {
			fmt.Fprintf(a.out, "%s %s: not called\n", a.painter.dim("-"), show.Line(def.Name))
		} else {
			for _, example := range def.Examples {
				outcome := h.Session("test").Call(ctx, host.Request{Tool: def.Name, Params: example.Params})
				report(def.Name+" "+string(example.Params), outcome.Err)
			}
		}
	}
	fmt.Fprintf(a.out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 || len(h.Catalog().Entries()) == 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}
