// Package workspace is the only way by which toolhost accesses users' files.
//
// A [Workspace] is a directory tree, plus further trees that the operator allows. Every path is resolved one
// component at a time through os.Root handles, and the operation is done on the handle of the parent directory and
// a single name. Nothing is checked by name first and used by name later, so a symlink swapped in between leads
// nowhere outside.
//
// Symlinks are followed while they stay inside, absolute ones too. Files are replaced by renaming a finished
// temporary file over them: a reader or a kill at any moment finds the old or the new file, whole, and no hard link
// is written through. Writers of one directory exclude each other, inside the process and between processes.
//
// Paths matching [Options.Protect] can be read but not written, and a directory that holds one cannot be moved or
// removed.
//
// Not defended against: bind mounts are followed as the operator made them, and a process that may itself write
// outside the workspace can move a directory there while it is being written to.
package workspace
