//go:build !linux

package main

func mainBehindFilter() {}
