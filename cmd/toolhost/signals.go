package main

import (
	"os"
	"syscall"
)

// endSignals are the signals that end the program in good order.
func endSignals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
