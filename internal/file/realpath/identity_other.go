//go:build !unix

package realpath

import "os"

// Identity tells a file or directory from any other that is there at the time.
// This system has none.
func Identity(os.FileInfo) string { return "" }
