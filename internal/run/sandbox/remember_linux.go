package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/internal/keep/userdir"
)

// allowances are where the system says who may make user namespaces. An operator
// changes them while the machine runs.
var allowances = []string{
	"/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone",
	"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
}

// fullWorks reports whether level full works. It is believed without trying
// where a file in the user's cache says so for this boot of the machine, this
// user, its user namespace and what that is allowed. Whoever forges the file
// gains nothing: a launcher that cannot do what it was told fails.
var fullWorks = sync.OnceValue(func() bool {
	file, want := fullRecord()
	if file == "" {
		return try(Full).Works
	}
	if found, err := os.ReadFile(file); err == nil && bytes.Equal(found, want) {
		return true
	}
	works := try(Full).Works
	rememberFull(works)
	return works
})

// fullRecord is the file and what it has to hold; "" where there is no place.
// In a sandbox, what works outside says nothing.
func fullRecord() (file string, content []byte) {
	if confinedAlready() {
		return "", nil
	}
	return recordHere()
}

// recordHere is fullRecord wherever this is.
func recordHere() (file string, content []byte) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", nil
	}
	file = userdir.Cache("sandbox-full")
	if file == "" {
		return "", nil
	}
	namespace, _ := os.Readlink("/proc/self/ns/user")
	content = fmt.Appendf(bytes.TrimSpace(boot), " uid %d in %s", os.Geteuid(), namespace)
	for _, file := range allowances {
		value, _ := os.ReadFile(file) // missing in some kernels
		content = fmt.Appendf(content, " %s", bytes.TrimSpace(value))
	}
	return file, append(content, '\n')
}

// rememberFull keeps a verdict. Not being able to only costs time.
func rememberFull(works bool) {
	file, content := fullRecord()
	switch {
	case file == "":
	case !works:
		_ = os.Remove(file)
	case os.MkdirAll(filepath.Dir(file), 0o700) == nil:
		_ = os.WriteFile(file, content, 0o600)
	}
}
