//go:build race

package mcpserve_test

import "time"

// promptly is how soon a server answers that others try to keep busy; the race
// detector makes all slower.
const promptly = 10 * time.Second
