package console

import (
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/store/userdir"
)

// leads match the files that lead the user's browser to an address. All programs of the machine can
// read a command line, but not a file of mode 0600 out of the tools' reach.
const leads = "open-*.html"

// BrowserExpected reports whether a browser can likely be started.
func BrowserExpected(getenv func(string) string) bool {
	switch runtime.GOOS {
	case "darwin":
		return true
	}
	return getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}

// OpenBrowser opens an address of Address in the user's browser, by a file that is removed once used.
// It does not wait; failed is called if nothing could be opened.
func (s *Server) OpenBrowser(address string, failed func(error)) {
	path, err := writeLead(strings.Replace(address, "/#", entrancePath+"#", 1))
	if err != nil {
		failed(err)
		return
	}
	s.guard.lead(address[strings.LastIndex(address, "=")+1:], func() { _ = os.Remove(path) })
	go func() {
		if err := s.browse(path); err != nil {
			failed(err)
		}
	}()
}

// writeLead writes the file that leads to an address, and removes those of killed consoles.
func writeLead(address string) (path string, err error) {
	dir, err := userdir.Console()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return "", err
	}
	left, _ := filepath.Glob(filepath.Join(dir, leads))
	for _, old := range left {
		if info, err := os.Lstat(old); err == nil && time.Since(info.ModTime()) > codeTime {
			_ = os.Remove(old)
		}
	}
	f, err := os.CreateTemp(dir, leads) // of mode 0600
	if err != nil {
		return "", err
	}
	to := html.EscapeString(address)
	_, err = fmt.Fprintf(f, "<!doctype html>\n<meta charset=\"utf-8\">\n"+
		"<meta name=\"referrer\" content=\"no-referrer\">\n"+
		"<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n<title>toolhost</title>\n<a href=\"%s\">Open the console</a>\n",
		to, to)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// openFile opens a file in the user's browser, which outlives the console.
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
