//go:build !unix

package worker

// fileLimit is how many files this process may have open.
func fileLimit() int { return 0 }
