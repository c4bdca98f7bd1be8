//go:build !linux

package main

import (
	"errors"
	"os/exec"
	"testing"
)

// ownDisk is a variable that is never set here.
const ownDisk = "TOOLHOST_HUB_TEST_DISK"

func runOnOwnDisk() int { return 1 }

func onDisk(*testing.T, *exec.Cmd, string) {}

func mayMount(*testing.T) error { return errors.New("only on Linux") }

func fillDisk(*process, string) (stop func()) { return func() {} }
