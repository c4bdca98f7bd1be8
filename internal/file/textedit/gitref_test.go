package textedit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// run runs a program without the user's configuration and returns its output.
// Exit code 1 of a diff is no failure.
func run(t testing.TB, dir string, stdin []byte, argv ...string) string {
	t.Helper()
	cmd := exec.Command(testneed.Program(t, argv[0]), argv[1:]...)
	cmd.Dir = dir
	cmd.Env = testgit.Env(t)
	cmd.Stdin = bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && (cmd.ProcessState.ExitCode() != 1 || errs.Len() > 0) {
		require.NoError(t, err, "%v: %s\n%s", argv, errs.String(), out)
	}
	return string(out)
}

// vocabulary has few lines, so that much matches in several ways.
var vocabulary = []string{
	"", "", "", "}", "\t}", "\t\t}", "{", "func f() {", "func g(x int) {", "type T struct {", "\treturn nil",
	"\tif x {", "\t\tx++", "\t\ty--", "        spaces", "  two", "/* comment", " */", "_private", "$dollar", "1 digit",
	"Ünïcode", "trailing   ", "\tfor {", "\t\tif err != nil {", "\t\t\treturn err", "é", "end\r",
}

func randomLines(r *rand.Rand, n, fresh int) []string {
	lines := make([]string, n)
	for i := range lines {
		if r.IntN(100) < fresh {
			lines[i] = fmt.Sprintf("%sline %d", strings.Repeat("\t", r.IntN(3)), r.IntN(100000))
		} else {
			lines[i] = vocabulary[r.IntN(len(vocabulary))]
		}
	}
	return lines
}

// mutate makes some edits: lines removed, added, changed, moved and doubled.
func mutate(r *rand.Rand, lines []string, edits, fresh int) []string {
	lines = append([]string(nil), lines...)
	for range edits {
		at := r.IntN(len(lines) + 1)
		n := min(1+r.IntN(6), len(lines)-at)
		switch block := append([]string(nil), lines[at:at+n]...); r.IntN(4) {
		case 0:
			lines = append(lines[:at], lines[at+n:]...)
		case 1:
			lines = insertAt(lines, at, randomLines(r, 1+r.IntN(6), fresh))
		case 2:
			lines = insertAt(lines, at, block)
		case 3:
			lines = append(lines[:at], lines[at+n:]...)
			lines = insertAt(lines, r.IntN(len(lines)+1), block)
		}
	}
	return lines
}

func insertAt(lines []string, at int, block []string) []string {
	return append(lines[:at:at], append(block, lines[at:]...)...)
}

func joined(r *rand.Rand, lines []string) []byte {
	text := strings.Join(lines, "\n")
	if len(lines) > 0 && r.IntN(8) > 0 {
		text += "\n"
	}
	return []byte(text)
}

type pair struct{ old, new []byte }

func randomPairs(seed uint64, n, size, fresh int) []pair {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]pair, n)
	for i := range list {
		lines := randomLines(r, r.IntN(size+1), fresh)
		list[i].old = joined(r, lines)
		list[i].new = joined(r, mutate(r, lines, 1+r.IntN(2+size/10), fresh))
	}
	return list
}
