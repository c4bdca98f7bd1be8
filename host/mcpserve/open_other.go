//go:build !unix

package mcpserve

// openNonblock is not needed where opening never waits.
const openNonblock = 0
