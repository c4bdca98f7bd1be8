package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// PortableName returns the name itself if it has at most so many bytes of A-Z a-z 0-9 _ and -, which every
// model API accepts. Otherwise it is truncated, with _ for other characters, and ends with 8 hexadecimal digits
// derived from the whole name: the same whatever else is offered.
func PortableName(name string, most int) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if plain == name && len(name) <= most && name != "" {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return plain[:min(len(plain), most-len(suffix))] + suffix
}
