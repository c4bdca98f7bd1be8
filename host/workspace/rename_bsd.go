//go:build unix && !linux && !darwin

package workspace

func renameNoReplace(from int, name string, to int, target *place) error {
	return renameUnlessThere(from, name, to, target)
}
