package proc

// unshared reports whether nobody else can write into libexec. Windows archives
// have it beside the program, under the access rights of the program itself.
func unshared(string, string) bool { return true }
