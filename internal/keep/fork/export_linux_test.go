package fork

// BoundPaths bounds the paths of a fork, until the returned function is called.
func BoundPaths(most int) (before func()) {
	was := mostPaths
	mostPaths = most
	return func() { mostPaths = was }
}
