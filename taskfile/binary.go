package taskfile

import (
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// BinaryName is the name of the child program, without ".exe".
const BinaryName = "toolhost-task"

// FindBinary looks for toolhost-task beside the running program, then in the
// directories of PATH that do not lie in workspace. Not found is an error of
// code unavailable that says how to get it.
func FindBinary(workspace string) (string, error) {
	path, err := proc.LookSibling(BinaryName, workspace)
	if err != nil {
		return "", tool.Errorf(tool.Unavailable,
			"the program %s, which runs Taskfile commands, is neither beside toolhost nor on PATH", BinaryName).
			Suggest("Install it with `go install github.com/toolhost/toolhost/cmd/%s@latest`, or `make build` in toolhost's source, and keep it beside toolhost.", BinaryName)
	}
	return path, nil
}
