package sandbox

import (
	"context"
	"sync"
)

// Report is what works on this machine.
type Report struct {
	Full, Landlock Verdict
	// Strongest is the level that Auto takes, empty when none works.
	Strongest Level
	// Around is the sandbox that the running program itself is in: Full or
	// Landlock for one of toolhost's, Other for one that filters system calls,
	// empty for none. It is for people: what works is found out by trying, and
	// confines in addition to what is around.
	Around Level
	// LandlockABI is the version of the kernel's Landlock, 0 for none.
	LandlockABI int
	// Promise says in a sentence what holds for confined processes.
	Promise string
	// Gaps are what the strongest level leaves open.
	Gaps []string
}

// Verdict is whether a level works, and why not.
type Verdict struct {
	Works  bool
	Reason string
	// Remedy is what the machine's administrator can do, "" where that is not
	// known.
	Remedy string
}

func (r Report) verdict(level Level) Verdict {
	switch level {
	case Full:
		return r.Full
	case Landlock:
		return r.Landlock
	}
	return Verdict{Works: level == Off}
}

// Detect tries what works on this machine. It starts confined processes the
// first time, which takes some milliseconds, and remembers the answer.
func Detect(context.Context) Report { return detected() }

// detected holds for as long as the process runs: neither the kernel nor what
// it allows this user changes under it.
var detected = sync.OnceValue(func() Report {
	report := detect()
	var held bool
	report.Around, held = around()
	report.explain(held)
	switch {
	case report.Full.Works:
		report.Strongest = Full
	case report.Landlock.Works:
		report.Strongest = Landlock
	}
	report.Promise, report.Gaps = report.Promised(Auto)
	return report
})

// explain says why a level does not work in a sandbox.
func (r *Report) explain(held bool) {
	if !r.Full.Works && r.Around != "" {
		r.Full.Reason = "this process is in " + r.Around.Name() + " already, where nothing may make namespaces"
	}
	if !r.Landlock.Works && held {
		r.Landlock.Reason = "this process is in " + r.Around.Name() +
			" already, and the kernel takes one supervisor of system calls alone"
		if r.Around == Full {
			r.Landlock.Reason += " (the sandbox block of the agent.hcl around it can say watch = false)"
		}
	}
}

// Name names a sandbox of that level in a sentence.
func (l Level) Name() string {
	if l == Other {
		return "a sandbox"
	}
	return "a sandbox of toolhost's level " + string(l)
}

// On is Detect's verdict on one level.
func On(level Level) Verdict {
	if level == Full && fullWorks() {
		return Verdict{Works: true}
	}
	return detected().verdict(level)
}
