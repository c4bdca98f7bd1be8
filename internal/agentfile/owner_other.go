//go:build !unix

package agentfile

// foreign is not known here.
func foreign(string) bool { return false }
