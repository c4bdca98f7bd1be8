package codex

// Changed applies a patch of one file to its content. removed counts the lines that the patch may remove.
func Changed(patch string, data []byte) (removed int, after []byte, err error) {
	hunks, err := parsePatch(patch)
	if err != nil {
		return 0, nil, err
	}
	for _, h := range hunks[:1] {
		for _, c := range h.chunks {
			for _, l := range c.lines {
				if l.op == '-' {
					removed++
				}
			}
		}
		after, err = changed("f", data, h.chunks)
	}
	return removed, after, err
}
