package replay

import "slices"

// adopt takes what is at those paths that was not kept then for what it is now: there
// is nothing to compare it with. It gives the other paths.
func (t tree) adopt(actual tree, paths []string, ignored func(string) bool) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		if !ignored(path) {
			return false
		}
		if is, ok := actual[path]; ok {
			t[path] = is
		} else {
			delete(t, path)
		}
		return true
	})
}

// kept are the paths of a call but for the directories that are there or not for what
// others have left in them, and that was not kept.
func kept(paths []string, ignored func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return ignored(path) || ignored(path+"/") })
}
