// Package homedir finds the user's home directories. What is hidden in them from commands must not depend on a
// variable of the program that starts toolhost, so the user database counts as well.
package homedir

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
)

// All returns the absolute paths of the user's home directories: HOME, if absolute, and a different one in
// the user database. It is empty if neither is known.
func All() []string {
	var homes []string
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		homes = append(homes, filepath.Clean(home))
	}
	if home := registered(); home != "" && (len(homes) == 0 || homes[0] != home) {
		homes = append(homes, home)
	}
	return homes
}

// registered returns the home directory in the user database, if any.
var registered = sync.OnceValue(func() string {
	entry, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil || !filepath.IsAbs(entry.HomeDir) {
		return ""
	}
	return filepath.Clean(entry.HomeDir)
})
