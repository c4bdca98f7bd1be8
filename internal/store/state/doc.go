// Package state keeps the small key-value stores that tools get from
// [tool.Services], as JSON files that a person can read. They lie in the user's
// own state of a workspace, where no tool can write, and are shared by all hosts
// that work in it:
//
//	sessions/NAME.json   what tools keep for a session, such as todos; it ends with the session
//	memories.json        what tools keep for the workspace
//	approvals/ID.json    a call that waits for approval, one file each
//
// A change is made under a lock and replaces the file, so that readers need no
// lock, and a process killed in the middle leaves the file as it was. Reading
// makes no file.
package state
