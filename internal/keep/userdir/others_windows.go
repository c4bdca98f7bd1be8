package userdir

import "io/fs"

// othersWrite cannot be told from the mode here: the user's directories are the
// user's own by the system's rules.
func othersWrite(fs.FileInfo) bool { return false }

// writable is left to the first write here.
func writable(string) error { return nil }
