package agentbench

import "unicode/utf8"

// partialEnd counts the bytes of a character that is cut off at the end of b.
func partialEnd(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if utf8.FullRune(b[len(b)-i:]) {
				return 0
			}
			return i
		}
	}
	return 0
}

// partialStart counts the bytes of a character that is cut off at the start.
func partialStart(b []byte) int {
	for i := 0; i < utf8.UTFMax-1 && i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return 0
}
