package agentfile

import (
	"fmt"
	"path/filepath"
)

// Explain says what of an agent.hcl does not count, and what the user can do
// about it. Both are empty where there is nothing to say.
func (s *Standing) Explain() (text, next string) {
	const show = "toolhost trust --show lists them, toolhost trust approves the file, --trust this run alone."
	if s == nil {
		return "", ""
	}
	effects := s.ineffective()
	if s.Kept {
		return fmt.Sprintf("%s is not approved as it is now. What was approved goes on to be in force.", s.Path),
			"toolhost trust --show says what it would do, toolhost trust approves it as it is; a running server takes that over at once."
	}
	switch s.State {
	case Unapproved:
		return fmt.Sprintf("%s is not approved, %s.", s.Path, effects), show
	case Changed:
		return fmt.Sprintf("%s has changed since it was approved and is not approved as it is now, %s. What was "+
				"approved goes on to restrict.", s.Path, effects),
			"toolhost trust --show lists them, toolhost trust approves the file as it is, --trust this run alone."
	case Missing:
		return fmt.Sprintf("%s was approved and is gone. What it restricted goes on to be restricted.", s.Path),
			"toolhost trust --revoke ends that."
	case Foreign:
		return fmt.Sprintf("%s belongs to another user, so nothing in it counts.", s.Path),
			"toolhost trust approves the file all the same, as it is now."
	}
	return "", ""
}

// ineffective counts what has no effect.
func (s *Standing) ineffective() string {
	switch n := len(s.Effects); n {
	case 0:
		return "and only restricts"
	case 1:
		return "so 1 thing in it has no effect"
	default:
		return fmt.Sprintf("so %d things in it have no effect", n)
	}
}

// ForModels is Explain for the model of a client, which can pass it on to its
// user. It is empty where the file counts as it is.
func (s *Standing) ForModels() string {
	const trust = "Only the user can change that: toolhost trust --show lists them, toolhost trust approves."
	if s == nil {
		return ""
	}
	file := filepath.Base(s.Path)
	switch {
	case s.Kept:
		return fmt.Sprintf("%s was changed, and nobody has approved it as it is now: what was approved before goes "+
			"on, and tools that it declares since are missing. "+
			"Only the user can change that: toolhost trust --show tells what it does, toolhost trust approves.", file)
	case s.State == Unapproved:
		return fmt.Sprintf("%s is not approved, %s and tools that it declares are missing. %s", file, s.ineffective(),
			trust)
	case s.State == Changed:
		return fmt.Sprintf("%s was changed since the user approved it, %s and tools that it declares are missing. %s",
			file, s.ineffective(), trust)
	case s.State == Foreign:
		return file +
			" belongs to another user, so nothing in it counts. Only the user can change that, with toolhost trust."
	case s.State == Missing:
		return file + " was approved and is gone. What it restricted goes on to be restricted, until the user ends " +
			"that with toolhost trust --revoke."
	case s.State == Restricts:
		return file + " is in force: it only restricts, which needs no approval."
	}
	return ""
}
