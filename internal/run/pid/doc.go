// Package pid checks processes by their numbers. A number is reused some time after its process has ended: use
// it only for cleanup.
package pid
