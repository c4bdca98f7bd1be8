package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// fullWorks reports whether level full works. It is believed without trying
// where a file in the user's cache says so for this boot of the machine and
// this user. Whoever forges the file gains nothing: a launcher that cannot do
// what it was told fails.
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
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", nil
	}
	content = append(append(bytes.TrimSpace(boot), " uid "...), strconv.Itoa(os.Geteuid())...)
	return filepath.Join(dir, "toolhost", "sandbox-full"), append(content, '\n')
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
