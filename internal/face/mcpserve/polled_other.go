//go:build !linux

package mcpserve

import "io"

func polled(in io.Reader) (again io.Reader, done func()) { return in, func() {} }
