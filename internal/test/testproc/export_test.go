package testproc

// Describe is describe of a process.
func Describe(pid int) string { return describe(Process{pid, commandLine(pid)}) }
