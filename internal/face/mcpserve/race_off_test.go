//go:build !race

package mcpserve_test

import "time"

// promptly bounds an answer of a server under attack.
const promptly = time.Second
