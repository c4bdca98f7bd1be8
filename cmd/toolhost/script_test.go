package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolhost/toolhost/internal/test/oauthtest"
	"github.com/toolhost/toolhost/internal/test/testbuild"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// binaries is the directory of the built programs, made by TestMain.
var binaries string

func TestMain(m *testing.M) {
	mainBehindFilter()
	if filepath.Base(os.Args[0]) == "xdg-open" {
		os.Exit(browse(os.Args[1:]))
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildAndRun runs the tests with the programs.
func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "toolhost-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binaries = dir
	var flags []string
	if raceEnabled {
		flags = []string{"-race"}
	}
	if err := testbuild.Programs(dir, []string{"toolhost", "toolhost-task", "toolhost-otel"}, flags...); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// TestScript runs the whole program as a user or script would.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			path := binaries + string(os.PathListSeparator) + os.Getenv("PATH")
			home, err := os.MkdirTemp("", "toolhost-home-")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(home) })
			env.Setenv("PATH", path)
			env.Setenv("HOME", home)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			env.Setenv("TOOLHOST_TRUST", "1")
			env.Setenv("TOOLHOST_MUTATION", os.Getenv("TOOLHOST_MUTATION")) // see tools/mutate
			if strings.Contains(filepath.Base(env.WorkDir), "mcp_login") {
				return serveWithLogin(env)
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			// [missing:rg] skips a script visibly, or fails it if all must run.
			program, ok := strings.CutPrefix(name, "missing:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			if _, err := exec.LookPath(program); err == nil {
				return false, nil
			}
			if testneed.All() {
				return false,
					fmt.Errorf("the program %s is not installed, and TOOLHOST_TEST_ALL=1 allows no skip", program)
			}
			return true, nil
		},
		RequireExplicitExec: true,
	})
}

// serveWithLogin starts an MCP server that requires a login, and gives the script a browser.
func serveWithLogin(env *testscript.Env) error {
	server, stop := oauthtest.New()
	env.Defer(stop)
	env.Setenv("OAUTH_MCP", server.URL)
	desktop := filepath.Join(env.Getenv("HOME"), "desktop")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env.Setenv("PATH", desktop+string(os.PathListSeparator)+env.Getenv("PATH"))
	return errors.Join(os.Mkdir(desktop, 0o755), os.Symlink(self, filepath.Join(desktop, "xdg-open")))
}

// browse is the browser: it visits a page and follows it, or with --where only prints the destination.
func browse(args []string) int {
	client := http.DefaultClient
	if args[0] == "--where" {
		args = args[1:]
		client = &http.Client{CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	response, err := client.Get(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer response.Body.Close()
	fmt.Println(response.Header.Get("Location"))
	return 0
}
