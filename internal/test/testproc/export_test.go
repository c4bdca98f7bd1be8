package testproc

// Describe calls describe.
func Describe(pid int) string { return describe(Process{pid, commandLine(pid)}) }
