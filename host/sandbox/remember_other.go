//go:build !linux

package sandbox

func fullWorks() bool { return detected().Full.Works }

func rememberFull(bool) {}

func besideSelf() string { return "" }
