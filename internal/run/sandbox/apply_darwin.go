package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/toolhost/toolhost/host/tool"
)

const seatbelt = "/usr/bin/sandbox-exec"

func (p *Policy) apply(cmd *exec.Cmd, level Level) error {
	if level != Full {
		return tool.Errorf(tool.Unsupported, "macOS has no sandbox level %s", level).
			Suggest("Use level full or auto.")
	}
	g, err := p.grants()
	if err != nil {
		return err
	}
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	program, err := filepath.Abs(cmd.Path)
	if err != nil {
		return tool.AsError(err)
	}
	g.readOnly = append(g.readOnly, existing([]string{program})...)
	cmd.Env = p.environment(env, g, Landlock)
	profile := seatbeltProfile(*p, g, nil)
	cmd.Args = append([]string{seatbelt, "-p", profile, "--", program}, cmd.Args[1:]...)
	cmd.Path = seatbelt
	return nil
}

func try(t trial, _ *preparation) Verdict {
	if t.level == Landlock {
		return Verdict{Reason: "Landlock is part of Linux"}
	}
	if err := exec.Command(seatbelt, "-p", "(version 1)(allow default)", "/usr/bin/true").Run(); err != nil {
		return Verdict{Reason: seatbelt + ": " + err.Error()}
	}
	return Verdict{Works: true}
}

// watches reports that the levels full and landlock can be watched.
const watches = false

// views reports that level full has views.
const views = false
