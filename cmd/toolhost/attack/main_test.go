package attack

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/testbuild"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// binaries is the directory of the built programs.
var binaries string

func TestMain(m *testing.M) {
	if role := os.Getenv("ATTACK_ROLE"); role != "" {
		play(role) // this program also plays the evil plugin, the naive editor and others
		return
	}
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "toolhost-attack-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if binaries = dir; os.Getenv(builtEnv) != "" {
		return run(m, os.Getenv(builtEnv))
	}
	// Also for users that root plays. The running program is in a private directory.
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile("/proc/self/exe", player())); err != nil {
		return 1, err
	}
	if err := testbuild.Programs(dir, []string{"toolhost", "toolhost-task", "toolhost-console"}); err != nil {
		return 1, err
	}
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "../../../internal/run/sandbox/testdata/probe")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("go build: %w\n%s", err, out)
	}
	if user := os.Getenv(userEnv); user != "" {
		return runAs(user)
	}
	return run(m, dir)
}

// Environment variables that configure the catalogue: userEnv is the user id under which root runs it,
// with the programs in builtEnv, and levelEnv the sandbox level unless a case sets one.
const (
	userEnv  = "ATTACK_USER"
	builtEnv = "ATTACK_BUILT"
	levelEnv = "ATTACK_LEVEL"
)

// runAs runs the tests as another user, with built programs.
func runAs(user string) (int, error) {
	uid, err := strconv.ParseUint(user, 10, 32)
	if err != nil {
		return 1, fmt.Errorf("%s: %w", userEnv, err)
	}
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]),
		func(arg string) bool { return strings.HasPrefix(arg, "-test.testlogfile") })
	home := filepath.Join(binaries, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, int(uid), int(uid))); err != nil {
		return 1, err
	}
	tests := exec.Command(player(), args...)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	tests.Env = append(os.Environ(), builtEnv+"="+binaries, userEnv+"=", "HOME="+home)
	tests.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if err := tests.Run(); err != nil {
		return 1, fmt.Errorf("as user %d: %w", uid, err)
	}
	return 0, nil
}

func run(m *testing.M, dir string) (int, error) {
	binaries = dir
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(min(12, 3*runtime.GOMAXPROCS(0)))) // tests mostly wait
	code := m.Run()
	if flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" &&
		!tally.enough() {
		code = 1
	}
	return code, nil
}

// player returns this program's path, for its roles.
func player() string { return filepath.Join(binaries, "player") }

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return testfile.WriteWhole(to, data, 0o755)
}

// all reports whether tests run in their long form.
func all() bool { return testneed.All() }

// wanted is the least number of cases, and groups must each have cases and controls.
const wanted = 200

var groups = []string{"paths", "faults", "args", "shell", "sandbox", "processes", "parsers", "web", "plugins", "mcp",
	"repository", "protect"}

// tally counts the cases and controls that ran, by group.
var tally = counts{cases: make(map[string]map[string]bool), controls: make(map[string]map[string]bool)}

type counts struct {
	mu              sync.Mutex
	cases, controls map[string]map[string]bool
}

func (c *counts) note(to map[string]map[string]bool, group, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to[group] == nil {
		to[group] = make(map[string]bool)
	}
	to[group][name] = true
}

// enough prints the tally and reports whether the catalogue is complete.
func (c *counts) enough() bool {
	total, ok := 0, true
	for _, group := range slices.Sorted(maps.Keys(c.cases)) {
		fmt.Printf("%-10s %3d cases, %2d controls\n", group, len(c.cases[group]), len(c.controls[group]))
		total += len(c.cases[group])
	}
	fmt.Printf("%-10s %3d cases\n", "all", total)
	for _, group := range groups {
		if len(c.cases[group]) == 0 || len(c.controls[group]) == 0 {
			fmt.Printf("group %s lacks cases or controls\n", group)
			ok = false
		}
	}
	if total < wanted && !testing.Short() {
		fmt.Printf("the catalogue has fewer than %d cases\n", wanted)
		ok = false
	}
	return ok
}
