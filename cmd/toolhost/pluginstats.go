package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/peer/plugins"
	"github.com/toolhost/toolhost/internal/project"
)

// pluginStats is a plugin in the JSON of toolhost plugin stats.
type pluginStats struct {
	Name string `json:"name"`
	*plugins.History
	Average  time.Duration `json:"average_call"`
	Median   time.Duration `json:"median_call"`
	Quantile time.Duration `json:"p95_call"`
	Memory   int64         `json:"memory"`
}

func (a *app) pluginStatsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "stats",
		Short: "Show how often plugins were started and called, how long calls took, and their memory",
		Long: `Show how often plugins were started and called, how long calls took, and their
memory, over all runs of toolhost in this workspace. The median and the 95th
percentile are bounds: at most twice what they stand for. Durations in JSON are
nanoseconds, memory is bytes.`,
		Example: `  toolhost plugin stats`,
		Args:    cobra.NoArgs,
		RunE: a.inProject(func(_ *cobra.Command, _ []string, p *project.Project) error {
			stats := gatherStats(p)
			if asJSON {
				return writeIndented(a.out, stats)
			}
			return writeStats(a.out, stats)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, for programs")
	return c
}

func gatherStats(p *project.Project) []pluginStats {
	all := []pluginStats{}
	for _, s := range p.Plugins().Status() {
		h := p.Plugins().History(s.Name)
		line := pluginStats{Name: s.Name, History: h, Average: h.Average(), Median: h.Quantile(0.5),
			Quantile: h.Quantile(0.95)}
		for _, l := range h.Live {
			line.Memory += l.Memory
		}
		all = append(all, line)
	}
	return all
}

func writeStats(out io.Writer, stats []pluginStats) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTARTS\tFAILED\tCRASHES\tCALLS\tERRORS\tAVERAGE\tMEDIAN\tP95\tSLOWEST\tSTART\tMEMORY\tPEAK")
	for _, s := range stats {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Starts, s.FailedStarts,
			s.Crashes, s.Calls, s.Errors,
			brief(s.Average), brief(s.Median), brief(s.Quantile), brief(s.SlowestCall), brief(s.StartTook),
			megabytes(s.Memory), megabytes(s.PeakMemory))
	}
	return w.Flush()
}

// brief is a duration in three digits or so, "-" for none.
func brief(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

func megabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
