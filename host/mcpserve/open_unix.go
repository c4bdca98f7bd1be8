//go:build unix

package mcpserve

import "syscall"

// openNonblock keeps the opening of a pipe from waiting for its writer.
const openNonblock = syscall.O_NONBLOCK
