package effects_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// SequencesEnv is how many sequences are made.
const SequencesEnv = "TOOLHOST_TEST_SEQUENCES"

// patience bounds the sequences of a level if no number is requested.
const patience = 5 * time.Second

// perTree is how many sequences share one tree.
const perTree = 25

// TestSequences runs random commands on a tree that they continue with: after undo it is as before, after redo
// as after them.
func TestSequences(t *testing.T) {
	testproc.Unchanged(t)
	run := newSequences(t)
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) {
			run.all(run.count/2, patience, func() *arena { return newArena(t, level) }, generator.command)
		})
	}
	run.report(t)
}

// sequences are those of one test.
type sequences struct {
	count, done, left int
	seed              uint64 // of the first tree of each level
	asked             bool   // for a number
}

func newSequences(t *testing.T) *sequences {
	run := &sequences{count: 500, seed: testneed.Seed(t)}
	if text := os.Getenv(SequencesEnv); text != "" {
		run.count, _ = strconv.Atoi(text)
		run.asked = true
	}
	return run
}

func (run *sequences) report(t *testing.T) {
	t.Logf("%d sequences, %d of them left out", run.done, run.left)
}

// all makes sequences, with a new tree now and then.
func (run *sequences) all(count int, limit time.Duration, tree func() *arena, command func(generator) string) {
	var a *arena
	run.each(count, limit, func(n int) {
		if n%perTree == 0 || a == nil {
			a = tree()
		}
		if !a.sequence(run.seed+uint64(n), run.seed+uint64(n-n%perTree), command) {
			run.left++
			a = nil
		}
	})
}

// each makes as many sequences as there is time for, or as were requested.
func (run *sequences) each(count int, limit time.Duration, make func(n int)) {
	end := time.Now().Add(limit)
	for n := 0; n < count && (run.asked || time.Now().Before(end)); n++ {
		make(n)
		run.done++
	}
}

// sequence makes one, and undoes and redoes it. It returns false if not all was kept, as with an unreadable
// directory that was moved.
func (a *arena) sequence(seed, tree uint64, command func(generator) string) bool {
	a.t.Helper()
	g := generator{rand.New(rand.NewPCG(seed, 17))}
	var lines []string
	for range 1 + g.IntN(7) {
		lines = append(lines, "( "+command(g)+" ) >/dev/null 2>&1 || true")
	}
	script := strings.Join(lines, "\n")
	before := a.withoutObjects()
	report := a.sh(script)
	after := a.withoutObjects()
	said := fmt.Sprintf("%s=%d, sequence %d of its tree, changed %q:\n%s", testneed.SeedVariable, tree,
		seed-tree, report.Files, script)
	require.NoError(a.t, report.Err, said)
	report.Ignored = nil // is left out of trees, too
	if report.Note() != "" {
		a.t.Logf("%s\n%s", report.Note(), script)
		return false
	}
	if len(report.Files) == 0 {
		require.Equal(a.t, before, after, "a change was not seen: %s", said)
		return true
	}
	_, err := a.store.Undo(a.t.Context(), a.ws, last)
	require.NoError(a.t, err, said)
	a.same(before, "undo: "+said)
	_, err = a.store.Undo(a.t.Context(), a.ws, redo)
	require.NoError(a.t, err, said)
	a.same(after, "redo: "+said)
	return true
}

// same compares the tree, and shows only what differs.
func (a *arena) same(want map[string]string, said string) {
	a.t.Helper()
	is := a.withoutObjects()
	differs := func(path, _ string) bool { return is[path] == want[path] }
	missing, other := maps.Clone(want), maps.Clone(is)
	maps.DeleteFunc(missing, differs)
	maps.DeleteFunc(other, differs)
	require.Equal(a.t, missing, other, said)
	if a.check != "" {
		a.outside(a.check)
	}
}

// withoutObjects returns the tree without git's objects, which may stay, directories of nothing else, and what
// programs fill by themselves.
func (a *arena) withoutObjects() map[string]string {
	tree := a.tree()
	for path := range tree {
		for _, part := range []string{".git/objects/", "/node_modules/", "/__pycache__/"} {
			if strings.Contains("/"+path+"/", part) {
				delete(tree, path)
			}
		}
	}
	return tree
}

type generator struct{ *rand.Rand }

func (g generator) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

// path returns one of few paths, so that commands meet.
func (g generator) path() string {
	path := g.pick("a", "b", "c", "d")
	for g.IntN(3) == 0 {
		path += "/" + g.pick("a", "b", "e")
	}
	return path
}

func (g generator) command() string {
	p, q := g.path(), g.path()
	commands := []string{
		"echo " + strconv.Itoa(g.IntN(100)) + " >" + p, "echo " + strconv.Itoa(g.IntN(100)) + " >>" + p,
		"mkdir -p " + p, "rm -rf " + p, "rm " + p, "rmdir " + p, "mv " + p + " " + q, "mv -T " + p + " " + q,
		"cp -r " + p + " " + q, "cp " + p + " " + q, "ln -s " + g.pick("a", "b", "../a", "nowhere") + " " + p,
		"ln " + p + " " + q, "chmod " + g.pick("600", "644", "755") + " " + p + "; [ ! -d " + p + " ] || chmod u+x " + p, "sed -i s/1/2/ " + p,
		"tar cf " + p + " " + q, "touch " + p, ": >" + p, "dd if=/dev/urandom of=" + p + " bs=40000 count=1",
		"mkdir -p " + p + " && cd " + p + " && echo x >y && mv y z",
		"echo 1 >" + p + " & echo 2 >" + q + " & wait",
	}
	if _, err := exec.LookPath("git"); err == nil {
		commands = append(commands, "git init -q "+p+" && cd "+p+" && git add -A && "+
			"git -c user.name=n -c user.email=e commit -qm m")
	}
	return g.pick(commands...)
}
