package host

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the length that model APIs allow for a tool's name.
const maxName = 64

// PortableName is the name under which a tool is offered: its own, where that
// has at most 64 of the characters A-Z a-z 0-9 _ and -, which every model API
// takes. Otherwise it is as much of it as fits, and 8 characters that depend
// on the whole name, so that it is always the same and no other tool's.
func PortableName(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if plain == name && len(name) <= maxName && name != "" {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return plain[:min(len(plain), maxName-len(suffix))] + suffix
}
