package testproc

func Describe(pid int) string { return describe(Process{pid, commandLine(pid)}) }
