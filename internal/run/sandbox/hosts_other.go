//go:build !linux

package sandbox

const hostsServed = false
