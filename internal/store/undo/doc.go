// Package undo keeps what tools change, move or delete in a workspace, and
// brings it back.
//
// A [Store] lies in the user's own state, where no tool can write. Its [Store.Recorder] is
// told by package workspace of every change before it happens: it puts the old
// content into objects/, named by its SHA-256, and then adds a line to the
// session's file in journal/. Content of up to 32 KiB goes into the line
// itself, since making a file costs more than all else. Any number of processes
// do so at once; a lock keeps them apart from pruning only.
//
// Both are written before the change and neither is synced to the disk. A kill
// at any moment therefore loses nothing: what the file system was told, it
// tells the next process. After a loss of power the newest objects may be
// gone. Every object is checked against its name when it is read, so that
// undo then says what it cannot bring back and never restores a wrong content.
//
// The journal says what a file held before a change and the hash of what it
// held after it. Undoing goes from the newest change to the oldest, first on
// paper: as long as each file is what the change left, or what the change
// found, all is well; otherwise somebody has changed the file since, and
// nothing is undone at all. What is left to do is then done through the
// workspace, under the same containment and protection as any tool's change,
// and is recorded itself: undoing an undo is a redo.
package undo
