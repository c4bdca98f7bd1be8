package workspace

// exchange swaps the place's file and the one beside it atomically.
func exchange(p *resolvedPath, name string) error {
	dir, done, err := p.self()
	if err != nil {
		return err
	}
	defer done()
	fd := int(dir.Fd())
	return renameWith(fd, name, fd, p.name, swap)
}
