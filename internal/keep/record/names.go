package record

import "fmt"

// DiffName names the patch that a call applied, below the run directory.
func DiffName(step int) string { return fmt.Sprintf("diffs/step_%04d.patch", step) }

// LogName names the whole of one output stream ("stdout", "stderr") of a call,
// below the run directory.
func LogName(step int, stream string) string {
	return fmt.Sprintf("logs/tool_step_%04d_%s.txt", step, stream)
}
