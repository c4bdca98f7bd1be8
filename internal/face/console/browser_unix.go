//go:build unix

package console

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
)

// openFile opens a file in the user's browser, which goes on without the console.
func openFile(path string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.Command(program, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}
