package policy_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// prelude defines the marked commands: m1 to m4 in the shell, p1 and p2 as
// programs for commands that start others. Each writes to descriptor 9 in which
// line it ran and its arguments. A line that loops ends after 40 calls.
const prelude = say + `
m1() { _say_ m1 "$@"; }
m2() { _say_ m2 "$@"; }
m3() { _say_ m3 "$@"; }
m4() { _say_ m4 "$@"; }
`

const program = "#!/bin/sh\n" + say + "\n_say_ NAME \"$@\"\n"

// say writes everything at once: a shell writes its output line by line.
const say = `_say_() {
	local IFS s
	C=$((C+1))
	[ "$C" -lt 40 ] || exit 1
	IFS='` + unit + `' s="$N` + unit + `$*"
	while case $s in *'
'*) :;; *) ! :;; esac; do s="${s%%
*}` + newline + `${s#*
}"; done
	printf '%s' "$s` + record + `" >&9
}`

const unit, record, newline = "\x1f", "\x1e", "\x1d"

// batch is the number of lines per shell.
const batch = 250

// fromEnvironment returns a number that the Makefile's target reader sets.
func fromEnvironment(name string, standard int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return standard
}

// The reader is compared with real shells: in a readable line, only commands
// and arguments run that the reader listed.
func TestReaderAgainstShells(t *testing.T) {
	testneed.NotShort(t, "compares with shells")
	count := fromEnvironment("TOOLHOST_READER_LINES", 2000)
	seed := uint64(fromEnvironment("TOOLHOST_READER_SEED", 1))
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell)
			if err != nil {
				testneed.Missing(t, shell+" is not installed")
			}
			t.Logf("seed %d, %d lines; repeat with TOOLHOST_READER_SEED", seed, count)
			c := comparison{shell: path, dir: t.TempDir()}
			c.prepare(t)
			g := &grammar{Rand: rand.New(rand.NewPCG(seed, 1))}
			for done := 0; done < count; done += batch {
				lines := make([]string, min(batch, count-done))
				for i := range lines {
					lines[i] = g.line()
				}
				c.compare(t, lines)
			}
			t.Logf("%d lines, %d of them readable; %d marked commands ran, %d of them in readable lines", count,
				c.readable, c.ran, c.seen)
			require.NotZero(t, c.seen, "no marked command ran in a readable line: the comparison shows nothing")
		})
	}
}

type comparison struct {
	shell, dir          string
	readable, ran, seen int
}

func (c *comparison) prepare(t *testing.T) {
	bin := filepath.Join(c.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	for _, name := range []string{"p1", "p2"} {
		testfile.Program(t, filepath.Join(bin, name), strings.ReplaceAll(program, "NAME", name))
	}
	for _, name := range []string{"env", "nice", "nohup", "timeout", "xargs", "sh", "bash", "setsid", "stdbuf", "find",
		"cat"} {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "prelude"), []byte(prelude), 0o644))
}

// compare runs lines, each in a subshell of one shell, and compares what ran
// with what the reader saw.
func (c *comparison) compare(t *testing.T, lines []string) {
	var script strings.Builder
	script.WriteString("ulimit -t 2; ulimit -f 2000\n. \"$BASH_ENV\"\nFUNCNEST=50\n")
	for i, line := range lines {
		fmt.Fprintf(&script, "N=%d; C=0; export N C; ( cd work/%d; eval %s\n) </dev/null >/dev/null 2>&1\n", i, i,
			quoted(line))
		// Its own directory: no line meets another's files.
		require.NoError(t, os.MkdirAll(filepath.Join(c.dir, "work", strconv.Itoa(i)), 0o755))
	}
	for _, call := range c.run(t, script.String()) {
		at, argv, _ := strings.Cut(call, unit)
		i, err := strconv.Atoi(at)
		if err != nil || i >= len(lines) {
			continue // a line that changed its own number
		}
		c.ran++
		reading := policy.Read(lines[i])
		if reading.Unreadable != "" || slices.ContainsFunc(reading.Commands, readsFile) {
			continue
		}
		c.seen++
		if args := strings.Split(argv, unit); !listed(reading, args) {
			t.Errorf("%q ran and was not seen in\n%q\n%s\nthe reader saw %v", args, lines[i], lines[i],
				reading.Commands)
		}
	}
	for _, line := range lines {
		if policy.Read(line).Unreadable == "" {
			c.readable++
		}
	}
	require.NoError(t, os.RemoveAll(filepath.Join(c.dir, "work")))
}

// readsFile reports whether a command's own commands are in a file.
func readsFile(c policy.Command) bool { return c.Program() == "." || c.Program() == "source" }

func (c *comparison) run(t *testing.T, script string) []string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	said, write, err := os.Pipe()
	require.NoError(t, err)
	defer said.Close()
	file := filepath.Join(c.dir, "script")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o644))
	cmd := exec.CommandContext(ctx, c.shell, file)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + filepath.Join(c.dir, "bin"), "HOME=~", "BASH_ENV=" + filepath.Join(c.dir, "prelude"),
		"LC_ALL=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{nil, nil, nil, nil, nil, nil, write} // the last is 9
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	require.NoError(t, cmd.Start())
	write.Close()
	all := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(said)
		all <- data
	}()
	_ = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what a line left in the background
	_ = said.SetReadDeadline(time.Now().Add(5 * time.Second))
	calls := strings.Split(strings.ReplaceAll(string(<-all), newline, "\n"), record)
	return calls[:len(calls)-1]
}

// listed reports whether a command that ran is one that the reader saw. A
// dynamic word may be any number of arguments.
func listed(r policy.Reading, argv []string) bool {
	for _, c := range r.Commands {
		if fits(c.Words, argv) {
			return true
		}
	}
	return false
}

func fits(words []policy.Word, argv []string) bool {
	if len(words) == 0 {
		return len(argv) == 0
	}
	if !words[0].Dynamic {
		return len(argv) > 0 && words[0].Text == argv[0] && fits(words[1:], argv[1:])
	}
	for i := range len(argv) + 1 {
		if fits(words[1:], argv[i:]) {
			return true
		}
	}
	return false
}
