package taskfile

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/tool"
)

// BinaryName is the name of the child program, without ".exe".
const BinaryName = "toolhost-task"

// FindBinary looks for toolhost-task beside the running program, then in the
// directories of PATH that do not lie in workspace. Not found is an error of
// code unavailable that says how to get it.
func FindBinary(workspace string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if path := beside(self); path != "" {
			return path, nil
		}
	}
	path, err := proc.LookPath(BinaryName, workspace)
	if err != nil {
		return "", tool.Errorf(tool.Unavailable, "the program %s, which runs Taskfile commands, is neither beside toolhost nor on PATH", BinaryName).
			Suggest("Install it with `go install github.com/toolhost/toolhost/cmd/%s@latest`, or `make build` in toolhost's source, and keep it beside toolhost.", BinaryName)
	}
	return path, nil
}

// beside gives the child program in the directory of program, "" if it is not
// there.
func beside(program string) string {
	name := BinaryName
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(filepath.Dir(program), name)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return ""
	}
	return path
}
