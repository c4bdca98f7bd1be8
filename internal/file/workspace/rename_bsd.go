//go:build unix && !linux && !darwin

package workspace

import "errors"

func renameNoReplace(from int, name string, to int, target *place) error {
	return renameUnlessThere(from, name, to, target)
}

// exchange is for systems that can make two files change names.
func exchange(*place, string) error { return errors.ErrUnsupported }
