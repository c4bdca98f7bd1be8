//go:build !unix

package worker

// fileLimit is how many files this process may have open.
func fileLimit() int { return 0 }

// disk is what is free on the disk of a directory, and how much it holds.
func disk(string) (free, size uint64) { return 0, 0 }
