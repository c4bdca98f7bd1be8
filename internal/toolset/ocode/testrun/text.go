package testrun

import (
	"fmt"
	"strings"
)

// Text returns the report for a reader: the counts, each failure with its place and message,
// and the output if verbose or without counts.
func (r *Report) Text(verbose bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d passed, %d failed, %d skipped in %.2f s\n", r.Framework, r.Passed, r.Failed, r.Skipped,
		r.Duration.Seconds())
	if r.TimedOut {
		out.WriteString("The run was ended because it took too long.\n")
	}
	if r.Coverage != nil {
		fmt.Fprintf(&out, "Coverage: %.1f%% of %s\n", r.Coverage.Percent, r.Coverage.Of)
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&out, "\nFAILED %s%s\n", f.Name, f.place())
		for _, line := range strings.Split(f.Message, "\n") {
			out.WriteString("    " + line + "\n")
		}
	}
	if verbose || r.Passed+r.Failed+r.Skipped == 0 || r.ExitCode != 0 && r.Failed == 0 {
		fmt.Fprintf(&out, "\nOutput (exit code %d):\n%s", r.ExitCode, r.Output)
	}
	return out.String()
}

func (f Failure) place() string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return " (" + f.File + ")"
	}
	return fmt.Sprintf(" (%s:%d)", f.File, f.Line)
}
