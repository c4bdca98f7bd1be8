package sandbox

import "errors"

// NoOverlay makes views of a tree without overlayfs.
func NoOverlay(tree string) { overlaid.Store(tree, errors.New("not tried")) }
