//go:build !linux

package search

import "os"

// memoryFile makes a file in memory, nil where there can be none.
func memoryFile() *os.File { return nil }
