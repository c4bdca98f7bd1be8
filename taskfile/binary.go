package taskfile

import "github.com/toolhost/toolhost/internal/installation"

// BinaryName is the name of the child program, without ".exe".
const BinaryName = "toolhost-task"

// FindBinary looks for toolhost-task where it is installed together with the
// running program, then in the directories of PATH that do not lie in
// workspace. One that is not found, or of another version, is an error of code
// unavailable that says how to get it.
func FindBinary(workspace string) (string, error) { return installation.Task.Find(workspace) }
