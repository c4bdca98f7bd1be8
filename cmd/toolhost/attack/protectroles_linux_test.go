package attack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { // see protect_test.go
	systemRoles["race"] = func() { raceForAName(os.Args[1]) }
	systemRoles["files"] = useFiles
}

// raceForAName opens a file for writing repeatedly, by a name that another thread switches between a
// harmless one and the target.
func raceForAName(name string) {
	evil, good := append([]byte(name), 0), append([]byte(strings.Repeat("g", len(name))), 0)
	shared := append([]byte{}, good...)
	end := time.Now().Add(300 * time.Millisecond)
	go func() {
		for {
			copy(shared, evil)
			copy(shared, good)
		}
	}()
	for tries, cwd := 0, unix.AT_FDCWD; tries < 1000 && time.Now().Before(end); tries++ {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(cwd), uintptr(unsafe.Pointer(&shared[0])),
			unix.O_WRONLY|unix.O_CREAT, 0o644, 0, 0)
		if errno == 0 {
			_, _ = unix.Write(int(fd), []byte("owned"))
			_ = unix.Close(int(fd))
		}
	}
}

// useFiles uses calls that a shell does not, and fails if one differs from its unconfined effect.
func useFiles() {
	err := errors.Join(unnamed(), exclusive(), atDirectories(), crowd())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// unnamed makes a file without a name and links it.
func unnamed() error {
	fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("O_TMPFILE: %w", err)
	}
	_, _ = unix.Write(fd, []byte("text"))
	if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "linked",
		unix.AT_SYMLINK_FOLLOW); err != nil {
		return fmt.Errorf("linkat: %w", err)
	}
	if text, err := os.ReadFile("linked"); string(text) != "text" {
		return fmt.Errorf("linked: %q, %w", text, err)
	}
	return nil
}

func exclusive() error {
	if _, err := os.OpenFile("linked", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("an exclusive open of what exists: %w", err)
	}
	if _, err := os.OpenFile("nothing here", os.O_WRONLY, 0); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("an open of what is missing: %w", err)
	}
	file, err := os.OpenFile("locked", os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX)
}

// atDirectories works by directory descriptors, as careful programs do.
func atDirectories() error {
	if err := os.MkdirAll("deep/er", 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot("deep")
	if err != nil {
		return err
	}
	defer root.Close()
	return errors.Join(root.WriteFile("er/a", []byte("a"), 0o644), root.Rename("er/a", "b"), root.Remove("b"),
		root.RemoveAll("er"))
}

// crowd has many threads make and move files at once, while signals arrive.
func crowd() error {
	var wait sync.WaitGroup
	failures := make([]error, 8)
	for i := range failures {
		wait.Go(func() {
			for n := range 100 {
				from, to := fmt.Sprintf("from-%d-%d", i, n), fmt.Sprintf("to-%d-%d", i, n)
				failures[i] = errors.Join(failures[i], os.Mkdir(from+"d", 0o755),
					os.WriteFile(from, []byte("x"), 0o644), os.Rename(from, to))
			}
		})
	}
	wait.Wait()
	return errors.Join(failures...)
}
