package kit

// OwnDirs are where toolhost puts what results name, which is no part of what a
// workspace holds.
func OwnDirs() []string { return []string{".agent/runs", ".agent/cache"} }
