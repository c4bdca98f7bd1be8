// Package state keeps the small key-value stores that tools get from
// [tool.Services]: one SQLite file for a workspace, shared by every host that
// works in it. It lies in the user's own state, where no tool can write.
//
// Nothing is opened before the first access, so a call that keeps no state
// pays nothing. Writers of several processes take turns: every change is one
// transaction that begins by taking SQLite's write lock, and a process killed
// in the middle of one leaves the file as it was before.
package state
