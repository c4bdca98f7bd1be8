//go:build !unix

package conformance

import "os/exec"

func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func terminate(cmd *exec.Cmd) error { return cmd.Process.Kill() }
