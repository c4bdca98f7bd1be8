//go:build !linux

package search

import "errors"

// fastOpener is there on Linux only.
type fastOpener struct{}

func newFastOpener(string) *fastOpener { return nil }

func (*fastOpener) close() {}

func (*fastOpener) open(string) (source, int64, error) { return nil, 0, errors.ErrUnsupported }
