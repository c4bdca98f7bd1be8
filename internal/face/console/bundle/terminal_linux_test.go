package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/chromedp/chromedp"
)

// terminal is one whose user types nothing: what is written to the second file can
// be read from the first.
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

// asOpener has a program stand for the user's browser. It notes how it was started,
// and what the file holds that it was given.
func (u *user) asOpener(script string) (notes string) {
	u.t.Helper()
	dir := u.t.TempDir()
	notes = filepath.Join(u.t.TempDir(), "notes")
	text := "#!/bin/sh\n{ echo \"$#\"; echo \"$1\"; env; cat \"$1\"; } >" + notes + ".new\n" + script +
		"mv " + notes + ".new " + notes + "\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(text), 0o700); err != nil {
		u.t.Fatal(err)
	}
	u.env[0] = "PATH=" + dir + ":" + os.Getenv("PATH")
	return notes
}

// consoleIn starts a console in a terminal and gives the lines that it shows.
func (u *user) consoleIn(args ...string) (lines <-chan string, stop func()) {
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
	shown := make(chan string, 100)
	go func() {
		for lines := bufio.NewScanner(screen); lines.Scan(); {
			shown <- strings.TrimRight(lines.Text(), "\r")
		}
	}()
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
	return shown, stop
}

// next are the next lines that begin so, whichever is shown first.
func next(t *testing.T, lines <-chan string, begins ...string) []string {
	t.Helper()
	found := make([]string, len(begins))
	for late, left := time.After(time.Minute), len(begins); left > 0; {
		select {
		case line := <-lines:
			for i, begin := range begins {
				if found[i] == "" && strings.HasPrefix(line, begin) {
					found[i] = line
					left--
				}
			}
		case <-late:
			t.Fatalf("what is shown begins with %q, not with each of %q", found, begins)
		}
	}
	return found
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("never: " + what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// whoHas are the processes whose command line or environment has a text.
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

// arrived waits for a condition of a page that the browser is on its way to.
func arrived(condition string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for {
			there, err := chromedp.Evaluate[bool]("!!("+condition+")")(ctx, target)
			if err == nil && there {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("never true: %s, %w", condition, err)
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// The console opens the user's browser by a file: what it is told on its command
// line is the path. A browser that opens the file has the console, once.
func TestConsoleOpensABrowser(t *testing.T) {
	u, ctx := newUser(t), browser(t)
	notes := u.asOpener("")
	u.env = append(u.env, "DISPLAY=:99")
	lines, stop := u.consoleIn()
	address := next(t, lines, "http://")[0]
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
	if found := whoHas("DISPLAY=:99"); found == nil { // the control
		t.Error("processes cannot be looked at")
	}
	inIt := `document.querySelector("nav") && location.hash == "#/inbox"`
	do(t, ctx, chromedp.Navigate("file://"+path), arrived(inIt))
	if at := value[string](t, ctx, "location.href + document.referrer"); at != base+"/#/inbox" {
		t.Errorf("the page is at %s", at)
	}
	if exists(path) {
		t.Error("the file is there after its code was used")
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`window.before = 1; setTimeout(() => location.reload()); 0`),
		arrived("!window.before && "+inIt))
	stop()

	lines, stop = u.consoleIn()
	next(t, lines, "http://")
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

// No browser is opened where nobody wants one, where there can be none, and where
// nobody is at a terminal; one that fails is a line and no end.
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
				lines, _ := u.consoleIn(c.args...)
				begins := []string{"http://"}
				if c.told != "" {
					begins = append(begins, "No browser") // of another stream
				}
				shown := next(t, lines, begins...)
				if address = shown[0]; c.told != "" && shown[1] != c.told {
					t.Error("it does not say why")
				}
			} else {
				address = u.console()
			}
			u.openAt(address) // who has answered this has started all that it starts
			if exists(notes) || c.told == "" && exists(notes+".new") {
				t.Error("a browser was opened")
			}
			if left, _ := filepath.Glob(filepath.Join(u.home, ".local", "state", "toolhost", "console", "*")); left != nil {
				t.Errorf("%q is there", left)
			}
		})
	}
}
