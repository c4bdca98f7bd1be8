package command

import "io/fs"

// links counts the names of a file, which are not told here.
func links(fs.FileInfo) uint64 { return 1 }
