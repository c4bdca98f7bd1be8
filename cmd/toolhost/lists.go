package main

import (
	"io"
	"maps"
	"slices"
)

// sortedNames gives the keys of a map in order.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// oneByte reads a byte at a time, so that a line reader takes no more of the
// terminal's input than its line.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return o.r.Read(p[:1])
}
