package agentfile

import (
	"fmt"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/face/show"
)

// Explain returns which text of an agent.hcl is not in force, and what the user can type; empty if in force.
func (s *Standing) Explain() (text, next string) {
	const approve = "toolhost trust shows the file and approves it"
	if s == nil {
		return "", ""
	}
	switch s.State {
	case Unapproved:
		return fmt.Sprintf("%s is not approved, so it has no effect and only tools that read are offered.", s.Path),
			approve + "; --trust approves it for this run."
	case Changed:
		return fmt.Sprintf("%s has changed since you approved it; the approved version is still in force.", s.Path),
			"Review: toolhost trust --show. Approve: toolhost trust."
	case Missing:
		return fmt.Sprintf("%s was deleted; the version you approved is still in force.", s.Path),
			fmt.Sprintf("To drop it: toolhost trust --revoke --workspace %s", show.Word(filepath.Dir(s.Path)))
	case Moved:
		return fmt.Sprintf("A path in %s has another target than when it was approved, so only tools that read are offered.",
			s.Path), approve + " as it is now."
	}
	return "", ""
}

// ForModels is Explain for a client's model to pass on to its user; empty if in force.
func (s *Standing) ForModels() string {
	if s == nil {
		return ""
	}
	file := filepath.Base(s.Path)
	switch s.State {
	case Unapproved:
		return file + " is not approved, so it has no effect and only tools that read are offered. " +
			"Only the user can change that, with toolhost trust."
	case Changed:
		return file + " has changed since the user approved it; the approved version is still in force. " +
			"Only the user can change that, with toolhost trust."
	case Missing:
		return file + " was deleted; the version that the user approved is still in force. " +
			"Only the user can change that, with toolhost trust --revoke."
	case Moved:
		return "A path in " + file + " has another target than when it was approved, so only tools that read are offered. " +
			"Only the user can change that, with toolhost trust."
	}
	return ""
}
