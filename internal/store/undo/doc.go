// Package undo keeps what tools change, move or delete in a workspace, and restores it.
//
// A [Store] lies in the user's own state, where no tool can write. Package workspace calls its [Store.Recorder]
// before every change: it puts the old content into objects/, named by its SHA-256, and then adds a line to the
// session's file in journal/. Content of up to 32 KiB goes into the line itself, since making a file costs more
// than all else. Any number of processes do so at once; only pruning needs an exclusive lock.
//
// Both are written before the change and not synced to disk. A kill at any moment loses nothing; a loss of
// power may lose the newest objects. Every object is checked against its name when read, so that undo reports
// what it cannot restore and never restores a wrong content.
//
// The journal has what a file held before a change and the hash of what it held after. Undo is planned from the
// newest change to the oldest. If a file is neither what the change left nor what it found, it was changed
// since, and nothing is undone. Undo works through the workspace, under the same containment and protection as
// any tool's change, and is recorded itself: undoing an undo is a redo.
package undo
