package sandbox

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Report is what works on this machine.
type Report struct {
	Full, Landlock Verdict
	// Strongest is the level of Auto, empty if none works.
	Strongest Level
	// Around is the sandbox around the running program: Full or Landlock for toolhost's own, Other for one that
	// filters system calls, empty for none. It is for people: levels are tried inside it.
	Around Level
	// LandlockABI is the version of the kernel's Landlock, 0 without Landlock.
	LandlockABI int
	// CallsRepeat is set before Linux 6.0, where a signal may repeat a call that changes a path.
	CallsRepeat bool
	// Promise is a sentence on what holds for confined processes.
	Promise string
	// Gaps are what the strongest level leaves open.
	Gaps []string
}

// Verdict is whether a level works, and why not.
type Verdict struct {
	Works  bool
	Reason string
	// Remedy is what a person can do, in sentences, "" if unknown.
	Remedy string
	// Passing is set if a limit was exhausted, which may be temporary.
	Passing bool
}

// Weaker says, given the verdict on level full, that commands are confined at level landlock.
func (v Verdict) Weaker() string {
	return "Commands are confined at level landlock, since level full, which is stronger, does not work here: " + v.Reason + "."
}

// Detect tries what works on this machine. The first call starts confined processes, which takes milliseconds.
func Detect(context.Context) Report {
	report := Report{Full: on(Full, true, nil), Landlock: on(Landlock, true, nil), LandlockABI: landlockABI(), CallsRepeat: callsRepeat()}
	report.Around = around()
	switch {
	case report.Full.Works:
		report.Strongest = Full
	case report.Landlock.Works:
		report.Strongest = Landlock
	}
	report.Promise, report.Gaps = report.Promised(Auto)
	return report
}

// On is Detect for one level.
func On(level Level) Verdict {
	if level != Full && level != Landlock {
		return Verdict{Works: level == Off}
	}
	return on(level, true, nil)
}

// Try checks, on Linux, that a command could be confined by the policy and change files of the workspace. The
// error is a *tool.Error.
func (p Policy) Try() error {
	level, err := p.choose()
	if err != nil || level == Off {
		return err
	}
	if v := p.tryIn(p.Workspace, level); !v.Works {
		return tool.Errorf(tool.Unavailable, "commands cannot change files here, or not be confined: %s", v.Reason).
			Suggest("%s", cmp.Or(v.Remedy, "Look at who may write to the directory, and at how it is mounted."))
	}
	return nil
}

var tried struct {
	sync.Mutex
	verdicts map[trial]belief
}

type trial struct {
	level      Level
	supervised bool
}

// belief is a verdict. A positive one holds for the life of the process; a negative one expires, and at once if
// a limit was exhausted.
type belief struct {
	Verdict
	until time.Time
}

const believed = 10 * time.Second

// on tries a level, unless known, for a command that shares its preparation with the trial.
func on(level Level, supervised bool, prepared *preparation) Verdict {
	if level == Landlock {
		supervised = true
	}
	t := trial{level, supervised}
	tried.Lock()
	defer tried.Unlock()
	known, found := tried.verdicts[t]
	if found && (known.Works || time.Now().Before(known.until)) {
		return known.Verdict
	}
	verdict := try(t, prepared)
	if !verdict.Passing {
		if tried.verdicts == nil {
			tried.verdicts = make(map[trial]belief)
		}
		tried.verdicts[t] = belief{verdict, time.Now().Add(believed)}
	}
	return verdict
}

// Name returns the name of a sandbox of that level in a sentence.
func (l Level) Name() string {
	if l == Other {
		return "a sandbox"
	}
	return "a sandbox of toolhost's level " + string(l)
}
