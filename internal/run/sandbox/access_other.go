//go:build !unix

package sandbox

import "io/fs"

// writable reports whether the user may write to a file.
func writable(_ string, info fs.FileInfo) bool { return info.Mode().Perm()&0o200 != 0 }

// ownedByUser reports whether there is something at a path that belongs to the user.
func ownedByUser(string) bool { return true }
