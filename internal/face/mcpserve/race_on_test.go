//go:build race

package mcpserve_test

import "time"

// promptly bounds an answer of a server under attack; the race detector slows all down.
const promptly = 10 * time.Second
