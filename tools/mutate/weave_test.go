package main

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sample = `package main

import (
	"fmt"
	"strings"
)

type box[T any] struct{ value T }

func (b *box[T]) get(_ int, rest ...string) (v T, n int) { return b.value, len(rest) }

func one[A, B any](A, B) int {
	return 1
}

func say(s string) {
	fmt.Println(strings.ToUpper(s))
}

var table = []int{1}

func main() {
	b := box[int]{7}
	v, n := b.get(0, "a", "b")
	fmt.Println(v, n, one(1, ""), table)
	say("x")
}
`

// A woven file behaves as the source, and as a mutation if that is chosen.
func TestWeave(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(file, []byte(sample), 0o600))
	all := []mutation{
		{line: 3, file: file, snippet: "return b.value, len(rest)", instead: "return b.value, 99"},
		{line: 5, file: file, snippet: "\treturn 1\n", instead: "\treturn 2\n"},
		{line: 8, file: file, snippet: "strings.ToUpper(s)", instead: "s"},
		{line: 9, file: file, snippet: "\treturn 1\n", instead: "\treturn 3\n"},
		{line: 11, file: file, snippet: "[]int{1}", instead: "[]int{2}"},
		{line: 12, file: file, snippet: `say("x")`, instead: ""},
		{line: 13, file: file, snippet: "s string", instead: "s any"},
	}
	woven, pkg, apart, err := weave(sample, all)
	require.NoError(t, err)
	assert.Equal(t, all[4:], apart, "the table, main, and another signature")
	_, err = parser.ParseFile(token.NewFileSet(), "", woven, 0)
	require.NoError(t, err, woven)

	require.NoError(t, os.WriteFile(file, []byte(woven), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "chosen.go"), []byte(chooser(pkg)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module sample\n\ngo 1.24\n"), 0o600))
	program := filepath.Join(dir, "sample")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, woven)
	for chosen, want := range map[string]string{
		"":  "7 2 1 [1]\nX\n",
		"3": "7 99 1 [1]\nX\n",
		"5": "7 2 2 [1]\nX\n",
		"8": "7 2 1 [1]\nx\n",
		"9": "7 2 3 [1]\nX\n",
	} {
		run := exec.Command(program)
		run.Env = append(os.Environ(), chosenEnv+"="+chosen)
		out, err := run.CombinedOutput()
		require.NoError(t, err, chosen)
		assert.Equal(t, want, string(out), chosen)
	}
}

// A mutation that does not compile is reported with its line in the list.
func TestInvalidMutationsAreNamed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(file, []byte(sample), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module sample\n\ngo 1.24\n"), 0o600))
	m := mutation{line: 42, file: "main.go", packages: ".", snippet: "\treturn 1\n", instead: "\treturn \"\"\n"}
	t.Chdir(dir)
	_, err := newBench(t.TempDir(), []mutation{m})
	assert.ErrorContains(t, err, "mutations.txt:4")
}
