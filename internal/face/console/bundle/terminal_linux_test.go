package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/chromedp/chromedp"
)

// terminal returns a terminal whose user types nothing: screen reads what is written to tty.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		missing(t, "there are no terminals: "+err.Error())
	}
	t.Cleanup(func() { screen.Close() })
	var number, locked uint32
	connection, err := screen.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed syscall.Errno
	if err := connection.Control(func(fd uintptr) {
		for request, value := range map[uintptr]*uint32{0x40045431: &locked, 0x80045430: &number} { // TIOCSPTLCK, TIOCGPTN
			if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value))); errno != 0 {
				failed = errno
			}
		}
	}); err != nil || failed != 0 {
		t.Fatal(err, failed)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		missing(t, "there are no terminals: "+err.Error())
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// asOpener installs a program in place of the user's browser. It notes its command line and the file's
// content.
func (u *user) asOpener(script string) (notes string) {
	u.t.Helper()
	dir := u.t.TempDir()
	notes = filepath.Join(u.t.TempDir(), "notes")
	text := "#!/bin/sh\n{ echo \"$#\"; echo \"$1\"; env; cat \"$1\"; } >" + notes + ".new\n" + script +
		"mv " + notes + ".new " + notes + "\n"
	program(u.t, filepath.Join(dir, "xdg-open"), []byte(text))
	u.env[0] = "PATH=" + dir + ":" + os.Getenv("PATH")
	return notes
}

// consoleIn starts a console in a terminal and returns its output.
func (u *user) consoleIn(args ...string) (shown *said, stop func()) {
	u.t.Helper()
	screen, tty := terminal(u.t)
	c := u.command(append([]string{"console"}, args...)...)
	in, err := c.StdinPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	c.Stdout, c.Stderr = tty, tty
	if err := c.Start(); err != nil {
		u.t.Fatal(err)
	}
	tty.Close() // the console holds it: the screen ends with the console
	ended := false
	stop = func() {
		if !ended {
			ended = true
			in.Close()
			_ = c.Process.Signal(os.Interrupt)
			_ = c.Wait()
		}
	}
	u.t.Cleanup(stop)
	return listen(screen), stop
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// whoHas returns the processes whose command line or environment contains a text.
func whoHas(text string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	more, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range append(files, more...) {
		if data, _ := os.ReadFile(path); strings.Contains(string(data), text) {
			found = append(found, path)
		}
	}
	return found
}

// The console opens the user's browser by a file: its command line has only the path. A browser that
// opens the file gets the console, once.
func TestConsoleOpensABrowser(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	notes := u.asOpener("")
	u.env = append(u.env, "DISPLAY=:99")
	shown, stop := u.consoleIn()
	address := shown.find(t, `^http://\S+`)
	base, code, ok := strings.Cut(address, "/#code=")
	if !ok {
		t.Fatal(address)
	}
	eventually(t, "the browser is opened", func() bool { return exists(notes) })
	data, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	given := strings.SplitN(string(data), "\n", 3)
	path := given[1]
	if given[0] != "1" || !strings.HasPrefix(path, filepath.Join(u.home, ".local", "state", "toolhost", "console")+"/") {
		t.Fatalf("the browser is started with %q", given[:2])
	}
	environment, file, _ := strings.Cut(given[2], "<!doctype html>")
	if strings.Contains(environment, code) || !strings.Contains(file, base+"/open#code="+code) {
		t.Errorf("the browser's environment or file: %s", given[2])
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if info, err := os.Lstat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	if found := whoHas(code); found != nil {
		t.Errorf("the code is in %q", found)
	}
	if found := whoHas("DISPLAY=:99"); found == nil { // control
		t.Error("processes cannot be looked at")
	}
	inIt := `document.querySelector("nav") && location.hash == "#/inbox"`
	do(t, ctx, chromedp.Navigate("file://"+path), until(inIt))
	if at := value[string](t, ctx, "location.href + document.referrer"); at != base+"/#/inbox" {
		t.Errorf("the page is at %s", at)
	}
	if exists(path) {
		t.Error("the file is there after its code was used")
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`window.before = 1; setTimeout(() => location.reload()); 0`),
		until("!window.before && "+inIt))
	stop()

	shown, stop = u.consoleIn()
	shown.find(t, "^http://")
	var second string
	eventually(t, "the browser is opened again", func() bool {
		data, _ := os.ReadFile(notes)
		_, rest, _ := strings.Cut(string(data), "\n")
		second, _, _ = strings.Cut(rest, "\n")
		return second != path
	})
	if !exists(second) {
		t.Error("there is no file")
	}
	stop()
	eventually(t, "the file goes with the console", func() bool { return !exists(second) })
}

// No browser is opened if unwanted, impossible, or without a terminal; a failure is reported and ends
// nothing.
func TestConsoleOpensNoBrowser(t *testing.T) {
	for name, c := range map[string]struct {
		env, script string
		args        []string
		terminal    bool
		told        string
	}{
		"--no-open":   {env: "DISPLAY=:99", args: []string{"--no-open"}, terminal: true},
		"no display":  {env: "DISPLAY=", terminal: true},
		"no terminal": {env: "WAYLAND_DISPLAY=wayland-0"},
		"one that fails": {env: "WAYLAND_DISPLAY=wayland-0", script: "exit 4\n", terminal: true,
			told: "No browser was opened: xdg-open: exit status 4. Open the address yourself."},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			notes := u.asOpener(c.script)
			u.env = append(u.env, c.env)
			var address string
			if c.terminal {
				shown, _ := u.consoleIn(c.args...)
				address = shown.find(t, `^http://\S+`)
				if c.told != "" && shown.find(t, "^No browser.*") != c.told { // of another stream
					t.Error("it does not say why")
				}
			} else {
				address = u.console()
			}
			u.openAt(address) // once this is answered, all is started
			if exists(notes) || c.told == "" && exists(notes+".new") {
				t.Error("a browser was opened")
			}
			if left, _ := filepath.Glob(filepath.Join(u.home, ".local", "state", "toolhost", "console", "*")); left != nil {
				t.Errorf("%q is there", left)
			}
		})
	}
}
