//go:build !unix

package main

// unwritable is not looked for here.
func unwritable(string) (problem, next string) { return "", "" }
