//go:build !linux && !darwin

package sandbox

import (
	"os/exec"

	"github.com/toolhost/toolhost/host/tool"
)

const notHere = "this operating system offers toolhost no way to confine a process"

func (p *Policy) apply(*exec.Cmd, Level) error {
	return tool.Errorf(tool.Unsupported, notHere).
		Suggest("Use sandbox level \"off\", or Linux.")
}

func try(trial) Verdict { return Verdict{Reason: notHere} }

// watches says that the levels full and landlock can be watched.
const watches = false

// views says that level full has views.
const views = false
