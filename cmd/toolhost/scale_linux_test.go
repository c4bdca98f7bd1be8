package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// cost is what a command took: CPU time, the memory of its largest process, and its output's size.
type cost struct {
	time    time.Duration
	memory  int64
	printed int
}

func (c cost) String() string {
	return fmt.Sprintf("%5.2f s, %4d MiB, %7d bytes printed", c.time.Seconds(), c.memory>>20, c.printed)
}

func costOf(t *testing.T, dir, home string, args ...string) cost {
	t.Helper()
	cmd := program(t, dir, args...)
	cmd.Env = environment(home)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10, out.Len()}
}

// written writes a file piece by piece: this process's memory counts when it starts another.
func written(t *testing.T, path string, write func(io.Writer)) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	w := bufio.NewWriter(file)
	write(w)
	require.NoError(t, w.Flush())
}

// TestScale quadruples commands' work: they take at most four times as long, no more memory than
// available, and print as little.
func TestScale(t *testing.T) {
	testneed.LongOnly(t, "takes a minute, and processor time counts")
	const line = "INFO request %d handled by worker, status=200 path=/api/v1/items, some more words to make it longer\n"
	writing := func(dir string, n int) {
		plant(t, dir, map[string]string{"agent.hcl": fmt.Sprintf(`tool "write" {
  description = "Write files. Returns: nothing."
  command { argv = ["sh", "-c", "mkdir -p out; cd out; i=0; while [ $i -lt %d ]; do : > f$i; i=$((i+1)); done"] }
}
`, n)})
	}
	for name, c := range map[string]struct {
		size    int // and four times that
		prepare func(dir string, n int)
		before  []string // an unmeasured call
		args    []string
		memory  int64 // MiB
		printed int
	}{
		"a common pattern in a large file": {size: 500_000, memory: 160, printed: 4 << 10,
			prepare: func(dir string, n int) {
				written(t, filepath.Join(dir, "big.log"), func(w io.Writer) {
					for i := range n {
						fmt.Fprintf(w, line, i)
					}
				})
			}, args: []string{"call", "--toolset", "cliagent", "grep_search", "pattern=INFO", "max_results=5"}},
		"a line of many megabytes": {size: 500_000, memory: 160, printed: 8 << 10,
			prepare: func(dir string, n int) {
				written(t, filepath.Join(dir, "min.js"), func(w io.Writer) {
					for i := range n {
						fmt.Fprintf(w, "x+%d;", i)
						if i == n/2 {
							fmt.Fprint(w, "needle")
						}
					}
				})
			}, args: []string{"call", "--toolset", "cliagent", "grep_search", "pattern=needle"}},
		"tools in agent.hcl": {size: 500, memory: 160, printed: 1 << 20,
			prepare: func(dir string, n int) {
				var text strings.Builder
				for i := range n {
					fmt.Fprintf(&text, "tool \"op_%d\" {\n  description = \"O.\"\n  risk = \"read_only\"\n  command { argv = [\"echo\", \"x\"] }\n}\n", i)
				}
				plant(t, dir, map[string]string{"agent.hcl": text.String()})
			}, args: []string{"call", "op_1"}},
		"files that a command writes": {size: 1500, memory: 160, printed: 66 << 10, prepare: writing,
			args: []string{"call", "write", "--json"}},
		"files that a command of cliagent writes": {size: 1500, memory: 160, printed: 66 << 10,
			prepare: func(string, int) {},
			args: []string{"call", "--toolset", "cliagent", "run_in_terminal",
				"command=sh -c 'mkdir -p out; cd out; i=0; while [ $i -lt SIZE ]; do : > f$i; i=$((i+1)); done'"}},
		"the log of calls": {size: 1500, memory: 160, printed: 8 << 10, prepare: writing,
			before: []string{"call", "write"}, args: []string{"log"}},
		"events": {size: 1500, memory: 160, printed: 66 << 10, prepare: writing,
			before: []string{"call", "write"}, args: []string{"events"}},
		"long output": {size: 200_000, memory: 96, printed: 66 << 10, prepare: func(string, int) {},
			args: []string{"call", "--toolset", "cliagent", "run_in_terminal", "command=seq 1 SIZE"}},
	} {
		t.Run(name, func(t *testing.T) {
			var costs [2]cost
			for i, size := range []int{c.size, 4 * c.size} {
				// The lesser of two: other load only adds to it.
				for range 2 {
					dir, home := t.TempDir(), t.TempDir()
					c.prepare(dir, size)
					sized := func(args []string) (out []string) {
						for _, arg := range args {
							out = append(out, strings.ReplaceAll(arg, "SIZE", fmt.Sprint(size)))
						}
						return out
					}
					if c.before != nil {
						costOf(t, dir, home, sized(c.before)...)
					}
					got := costOf(t, dir, home, sized(c.args)...)
					if costs[i].time == 0 || got.time < costs[i].time {
						costs[i] = got
					}
				}
				t.Logf("%8d: %s", size, costs[i])
			}
			small, large := costs[0], costs[1]
			const start = 30 * time.Millisecond // the time of a call that does nothing
			assert.Less(t, large.time, 5*max(small.time, start)+start, "processor time grows faster than the work")
			assert.Less(t, large.memory>>20, c.memory, "MiB of the largest process")
			assert.LessOrEqual(t, large.printed, c.printed, "bytes printed")
		})
	}
}
