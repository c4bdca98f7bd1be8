// Toolhost-launch confines one process from the inside, for toolhost, which
// starts it where it lies beside toolhost's own binary. It is small so that it
// starts quickly; see package launch. It is of no use by itself.
package main

import (
	"os"

	"github.com/toolhost/toolhost/host/sandbox/launch"
)

// main is reached by a launcher that was not started as one of its own kind.
func main() { os.Exit(launch.Refuse()) }
