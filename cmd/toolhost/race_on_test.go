//go:build race

package main

// raceEnabled has the programs built with the race detector as well.
const raceEnabled = true
