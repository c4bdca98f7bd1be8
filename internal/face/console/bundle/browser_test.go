package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "toolhost-console-")
	if err != nil {
		return "", err
	}
	return dir, goBuild("", dir+string(filepath.Separator), "./cmd/toolhost", "./cmd/toolhost-console")
})

// goBuild builds programs of a module as the Makefile does, to share its build cache.
func goBuild(module, to string, packages ...string) error {
	build := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags=-s", "-o", to}, packages...)...)
	build.Dir = filepath.Join("..", "..", "..", "..", module)
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	if path := os.Getenv("CONSOLE_TEST_TOOLS"); path != "" { // in toolhost's sandbox
		if err := serveTools(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// user has a home, a workspace and the programs.
type user struct {
	t              *testing.T
	bin, dir, home string
	env            []string
}

func newUser(t *testing.T) *user {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	u := &user{t: t, bin: bin, dir: filepath.Join(base, "ws"), home: filepath.Join(base, "home")}
	for _, dir := range []string{u.dir, u.home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	u.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "TMPDIR=" + t.TempDir(), "TOOLHOST_TRUST=1"}
	u.write("agent.hcl", "policy {\n  rule \"edits\" {\n    tool = \"*_file\"\n    action = \"ask\"\n  }\n}\n")
	return u
}

func (u *user) write(name, text string) {
	u.t.Helper()
	replace(u.t, filepath.Join(u.dir, name), text)
}

func (u *user) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(u.dir, name))
	return string(data)
}

func (u *user) command(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(u.bin, "toolhost"), args...)
	c.Dir, c.Env, c.Stderr = u.dir, u.env, os.Stderr
	return c
}

// session is an MCP client that cannot be asked.
type session struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	id  int
	end func()
	// kill ends a hanging server.
	kill func()
}

func (u *user) connect(name string) *session {
	u.t.Helper()
	return u.connectIn(u.dir, name)
}

func (u *user) connectIn(dir, name string) *session {
	u.t.Helper()
	c := u.command("serve", "--trust")
	c.Dir = dir
	return u.connectTo(c, name)
}

// connectTo starts a server and connects to it.
func (u *user) connectTo(c *exec.Cmd, name string) *session {
	u.t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		u.t.Fatal(err)
	}
	s := &session{t: u.t, in: in, out: bufio.NewReader(out), end: sync.OnceFunc(func() { in.Close(); _ = c.Wait() }),
		kill: func() { _ = c.Process.Kill() }}
	u.t.Cleanup(s.end)
	s.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": name, "version": "1"}})
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *session) ask(method string, params any) string {
	s.id++
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params})
	fmt.Fprintf(s.in, "%s\n", data)
	late := time.AfterFunc(3*time.Minute, s.kill) // a call may wait for a user
	defer late.Stop()
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return "ended: " + err.Error()
		}
		if strings.Contains(line, fmt.Sprintf(`"id":%d`, s.id)) {
			return line
		}
	}
}

func (s *session) call(tool string, args map[string]any) string {
	return s.ask("tools/call", map[string]any{"name": tool, "arguments": args})
}

func (u *user) console() (address string) {
	u.t.Helper()
	address, _ = u.startConsole()
	return address
}

func (u *user) startConsole() (address string, stop func()) {
	u.t.Helper()
	return u.started(u.command("console"))
}

// started starts a console and returns its address.
func (u *user) started(c *exec.Cmd) (address string, stop func()) {
	u.t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { in.Close(); _ = c.Process.Signal(os.Interrupt); _ = c.Wait() })
	u.t.Cleanup(stop)
	return listen(out).find(u.t, `^http://\S+`), stop
}

// missing skips a test for what this machine lacks, or fails it if TOOLHOST_TEST_ALL=1.
func missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("TOOLHOST_TEST_ALL") == "1" {
		t.Fatal(reason + ", and TOOLHOST_TEST_ALL=1 allows no skip")
	}
	t.Skip(reason)
}

// browser starts a browser, or skips the test if there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium-headless-shell", "headless-shell", "chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		missing(t, "no browser is installed (chromium-headless-shell)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute), chromedp.Flag("lang", "en-US"),
		chromedp.Env("LANG=C.UTF-8", "LC_ALL=", "LANGUAGE=", "TZ=UTC"))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Listen(ctx, func(e any) {
		if e, ok := e.(*runtime.EventExceptionThrown); ok && t.Context().Err() == nil {
			t.Errorf("the page fails: %+v", e.ExceptionDetails)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// do runs actions, each within a minute, for busy machines.
func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	for _, action := range actions {
		ctx, stop := context.WithTimeout(ctx, time.Minute)
		err := chromedp.Do(ctx, action)
		stop()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func value[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits for a condition. A failing one may meet a page that is redrawn or left.
func until(condition string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for {
			ok, err := chromedp.Evaluate[bool]("!!("+condition+")")(ctx, target)
			if err == nil && ok {
				return nil
			}
			select {
			case <-ctx.Done():
				ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				defer stop()
				text, _ := chromedp.Evaluate[string]("document.body.innerText")(ctx, target)
				return fmt.Errorf("never true: %s, %v\n%s", condition, err, text)
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// picture saves a screenshot if CONSOLE_PICTURES names a directory.
func picture(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		dir := os.Getenv("CONSOLE_PICTURES")
		if dir == "" {
			return nil
		}
		data, err := chromedp.CaptureScreenshot()(ctx, target)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	})
}

// dark sets the dark colour scheme.
func dark(on bool) chromedp.Action[chromedp.Void] {
	scheme := map[bool]string{false: "light", true: "dark"}[on]
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		return err
	})
}

// looks saves a page in light and dark, wide and narrow.
func looks(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(picture(name), dark(true), picture(name+"-dark"), chromedp.EmulateViewport(390, 844),
		picture(name+"-390-dark"), dark(false), picture(name+"-390"), chromedp.EmulateViewport(1200, 800))
}
