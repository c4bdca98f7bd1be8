// Package state keeps the small key-value stores that tools get from [tool.Services], as readable JSON files.
// They are in the user's own state of a workspace, where no tool can write, and are shared by all hosts of the
// workspace:
//
//	sessions/NAME.json   values of a session, such as todos; it ends with the session
//	memories.json        values of the workspace
//	approvals/ID.json    a call that waits for approval, one file each
//
// A change replaces the file under a lock, so that readers need no lock, and a killed process leaves the file
// as it was. Reading makes no file.
package state
