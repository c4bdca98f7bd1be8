package plugins

import "os"

// own leaves it to the access rights of the user's cache directory.
func own(os.FileInfo) bool { return true }
