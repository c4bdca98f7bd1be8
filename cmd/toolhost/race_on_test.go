//go:build race

package main

// raceEnabled builds the programs with the race detector too.
const raceEnabled = true
