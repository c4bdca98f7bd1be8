package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binaries is the directory of the built programs, made by TestMain.
var binaries string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildAndRun builds both programs, as a reader of the README would, and runs
// the tests with them.
func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "toolhost-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binaries = dir
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, ".", "../toolhost-task", "../toolhost-otel")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// TestScript runs the whole program as a person or a script would.
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
			return nil
		},
		Condition: func(name string) (bool, error) {
			// [missing:rg] skips a script visibly, or fails it where all must run.
			program, ok := strings.CutPrefix(name, "missing:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			if _, err := exec.LookPath(program); err == nil {
				return false, nil
			}
			if os.Getenv("TOOLHOST_TEST_ALL") == "1" {
				return false, fmt.Errorf("the program %s is not installed, and TOOLHOST_TEST_ALL=1 allows no skip", program)
			}
			return true, nil
		},
		RequireExplicitExec: true,
	})
}
