// Package pid knows of processes by their numbers. A number is used again some
// time after its process has ended: what it says is good for tidying up only.
package pid
