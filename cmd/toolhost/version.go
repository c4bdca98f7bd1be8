package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/buildinfo"
	"github.com/toolhost/toolhost/internal/installation"
)

// versionReport is the output of toolhost version --json.
type versionReport struct {
	buildinfo.Info
	Channel installation.Name `json:"channel"`
	Helpers []helperReport    `json:"helpers"`
	Missing []missingHelper   `json:"missing"`
}

type helperReport struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Problem is why it is refused, and Next what to do.
	Problem string `json:"problem,omitempty"`
	Next    string `json:"next,omitempty"`
}

type missingHelper struct {
	Name    string `json:"name"`
	Purpose string `json:"purpose"`
	Next    string `json:"next"`
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version and commit, and those of the helper programs",
		Long: `Print the version, the commit that it was built from, and the helper programs:
those that were found, with their versions, and those that are missing.`,
		Example: `  toolhost version
  toolhost version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			report := a.versionReport()
			if asJSON {
				return writeIndented(a.out, report)
			}
			return report.write(a.out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) versionReport() versionReport {
	channel, _ := installation.Installed()
	r := versionReport{Info: buildinfo.Read(), Channel: channel.Name, Helpers: []helperReport{},
		Missing: []missingHelper{}}
	for _, h := range installation.Helpers() {
		found, err := h.Inspect(a.likelyRoot())
		failed := tool.AsError(err)
		if found.Path == "" {
			if !h.Apart {
				r.Missing = append(r.Missing, missingHelper{h.Name, h.Purpose, failed.Suggestion})
			}
			continue
		}
		report := helperReport{Name: h.Name, Path: found.Path, Version: found.Build.Version, Commit: found.Build.Commit}
		if failed != nil {
			report.Problem, report.Next = failed.Message, failed.Suggestion
		}
		r.Helpers = append(r.Helpers, report)
	}
	return r
}

func (r versionReport) write(out io.Writer) error {
	_, err := io.WriteString(out, r.Text("toolhost"))
	for _, h := range r.Helpers {
		text := fmt.Sprintf("%s %s %s\n", h.Name, h.Version, h.Path)
		if h.Problem != "" {
			text = fmt.Sprintf("%s is refused: %s\n  %s\n", h.Name, h.Problem, h.Next)
		}
		_, _ = io.WriteString(out, text)
	}
	for _, h := range r.Missing {
		_, _ = fmt.Fprintf(out, "%s is missing; it %s\n  %s\n", h.Name, h.Purpose, h.Next)
	}
	return err
}

func version() string { return buildinfo.Read().Version }
