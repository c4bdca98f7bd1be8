package review_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/store/review"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// SequencesEnv is how many sequences are made.
const SequencesEnv = "TOOLHOST_TEST_SEQUENCES"

type arena struct {
	t            *testing.T
	root, state  string
	store        *undo.Store
	plain, links *workspace.Workspace
	calls        int
	copies       bool              // views are copies
	whole        map[string]string // see killed_linux_test.go
}

func newArena(t *testing.T) *arena {
	t.Helper()
	testneed.NotShort(t, "needs user namespaces")
	if report := sandbox.Detect(t.Context()); !report.Full.Works {
		testneed.Missing(t, report.Full.Reason)
	}
	root, err := filepath.EvalSymlinks(testneed.VisibleDir(t))
	require.NoError(t, err)
	a := &arena{t: t, root: root, state: t.TempDir()}
	a.store, err = undo.Open(a.state, undo.Options{})
	require.NoError(t, err)
	a.plain, a.links = a.open(workspace.Block), a.open(workspace.Inside)
	return a
}

func (a *arena) open(symlinks workspace.SymlinkPolicy) *workspace.Workspace {
	w, err := workspace.Open(a.root, workspace.Options{Recorder: a.store.Recorder("", "", 0), Symlinks: symlinks,
		Protect: []string{}})
	require.NoError(a.t, err)
	a.t.Cleanup(func() { _ = w.Close() })
	return w.Restoring()
}

func (a *arena) view(script string) *view.View {
	a.t.Helper()
	v, err := view.New(filepath.Join(a.t.TempDir(), "view"))
	require.NoError(a.t, err)
	a.t.Cleanup(func() { _ = v.Remove() })
	if a.copies {
		_, err = v.Copy(a.root)
		require.NoError(a.t, err)
	}
	a.run(view.With(context.Background(), v), script)
	return v
}

// try runs a script in a view, and returns what it has changed there.
func (a *arena) try(script string) *review.Changes {
	a.t.Helper()
	v := a.view(script)
	changes, err := review.Read(context.Background(), v, a.root)
	require.NoError(a.t, err)
	return changes
}

func (a *arena) run(ctx context.Context, script string) {
	a.t.Helper()
	policy := sandbox.Policy{Level: sandbox.Full, Workspace: a.root, NoCache: true}
	ended, err := proc.Run(ctx,
		proc.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: a.root, Prepare: policy.Confine,
			Env: proc.Environ(map[string]string{"GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"})})
	if view.From(ctx) != nil && tool.CodeOf(err) == tool.Unavailable {
		testneed.Missing(a.t, err.Error())
	}
	require.NoError(a.t, err)
	require.Zero(a.t, ended.ExitCode, "%s\n%s", ended.Stdout, ended.Stderr)
}

// commit commits changes to the workspace, as a call that can be undone.
func (a *arena) commit(changes *review.Changes) ([]string, error) {
	a.t.Helper()
	a.calls++
	own := undo.Call{Session: "s", ID: fmt.Sprintf("call%d", a.calls), Step: a.calls, Tool: "sh"}
	left, _, err := changes.Commit(undo.WithCall(context.Background(), own), a.plain)
	return left, err
}

func (a *arena) undo() {
	a.t.Helper()
	_, err := a.store.Undo(context.Background(), a.links, undo.Selection{})
	require.NoError(a.t, err)
}

func (a *arena) outside(script string) {
	a.t.Helper()
	ended, err := proc.Run(context.Background(), proc.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: a.root,
		Env: proc.Environ(nil)})
	require.NoError(a.t, err)
	require.Zero(a.t, ended.ExitCode, "%s", ended.Stderr)
}

// tree describes all files: kind, mode, content or target by path.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		found[rel] = info.Mode().String()
		switch {
		case strings.HasSuffix(rel, ".git/index"): // it contains times and inodes
			found[rel] = "index"
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			found[rel] += " " + workspace.Hash(data)
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[rel] += " " + target
			return err
		}
		return nil
	}))
	return found
}

// TestSequences runs random commands on a tree that they continue with: what is committed from a view is what
// the commands do without one, and undo takes it back.
func TestSequences(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { sequences(t, kind == "copy") })
	}
}

func sequences(t *testing.T, copies bool) {
	count, seed, limit := 200, testneed.Seed(t), 4*time.Second
	if text := os.Getenv(SequencesEnv); text != "" {
		count, _ = strconv.Atoi(text)
		limit = 24 * time.Hour
	}
	const perTree = 20
	end := time.Now().Add(limit)
	done := 0
	var ran, apart commands = make(commands), make(commands)
	var a, real *arena
	for n := 0; n < count && time.Now().Before(end); n++ {
		if n%perTree == 0 {
			a, real = newArena(t), newArena(t)
			a.copies = copies
		}
		script, linked, differ := a.sequence(real, seed+uint64(n))
		ran.count(script)
		if differ {
			apart.count(script)
		}
		if linked {
			a, real = newArena(t), newArena(t)
			a.copies = copies
		}
		done++
	}
	t.Logf("%d sequences; of those with a command, these came apart at files with several names:", done)
	for _, name := range slices.Sorted(maps.Keys(ran)) {
		t.Logf("%-6s %4d of %d", name, apart[name], ran[name])
	}
}

// commands counts sequences by their commands.
type commands map[string]int

func (c commands) count(script string) {
	seen := make(map[string]bool)
	for line := range strings.Lines(script) {
		name := strings.Fields(line)[1]
		switch name {
		case "[":
			name = "chmod"
		case ":":
			name = "echo" // both are written by the shell itself
		}
		if !seen[name] {
			seen[name] = true
			c[name]++
		}
	}
}

// sequence returns what ran, whether there were hard links, and whether the trees differed because of them,
// which the view must have reported.
func (a *arena) sequence(real *arena, seed uint64) (script string, linked, differ bool) {
	a.t.Helper()
	g := generator{rand.New(rand.NewPCG(seed, 17))}
	var lines []string
	for range 1 + g.IntN(7) {
		lines = append(lines, "( "+g.command()+" ) 2>/dev/null || true")
	}
	script = strings.Join(lines, "\n")
	said := fmt.Sprintf("%s=%d:\n%s", testneed.SeedVariable, seed, script)
	linked = strings.Contains(script, "( ln ") && strings.Count(script, "( ln -s") < strings.Count(script, "( ln ")
	before := tree(a.t, a.root)
	changes := a.try(script)
	same(a.t, before, tree(a.t, a.root), "the view has let a change through: "+said)
	left, err := a.commit(changes)
	require.NoError(a.t, err, said)
	assert.Empty(a.t, left, said)
	real.run(context.Background(), script)
	after, want := tree(a.t, a.root), tree(a.t, real.root)
	if linked && !assert.ObjectsAreEqual(want, after) {
		assert.True(a.t, slices.ContainsFunc(changes.List, func(c review.Change) bool { return c.Linked }),
			"the view has not said that files have further names: "+said)
		return script, true, true
	}
	same(a.t, want, after, said)
	if len(changes.List) > 0 {
		a.undo()
		same(a.t, withoutObjects(before), withoutObjects(tree(a.t, a.root)), "undo: "+said)
		_, err = a.store.Undo(context.Background(), a.links, undo.Selection{Redo: true})
		require.NoError(a.t, err, said)
		same(a.t, after, tree(a.t, a.root), "redo: "+said)
	}
	return script, linked, false
}

// same compares trees, and shows only what differs.
func same(t *testing.T, want, is map[string]string, said string) {
	t.Helper()
	missing, other := maps.Clone(want), maps.Clone(is)
	maps.DeleteFunc(missing, func(path, _ string) bool { return is[path] == want[path] })
	maps.DeleteFunc(other, func(path, _ string) bool { return is[path] == want[path] })
	require.Equal(t, missing, other, said)
}

// withoutObjects returns the tree without git's objects, which may stay.
func withoutObjects(tree map[string]string) map[string]string {
	kept := make(map[string]string)
	for path, what := range tree {
		if !strings.Contains(path+"/", ".git/") {
			kept[path] = what
		}
	}
	return kept
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
		"cp " + p + " " + q, "ln -s " + g.pick("a", "b", "../a", "nowhere") + " " + p,
		"[ -f " + p + " ] && chmod " + g.pick("600", "644") + " " + p, // a directory could not be copied then
		"chmod " + g.pick("700", "755") + " " + p, "sed -i s/1/2/ " + p, "touch " + p, ": >" + p,
		"head -c 40000 /dev/zero >" + p, "mkdir -p " + p + " && cd " + p + " && echo x >y && mv y z",
		"echo 1 >" + p + "; echo 2 >" + q, "rm -rf " + p + " && mkdir " + p + " && echo n >" + p + "/n",
		"rm -rf " + p + " && mkdir -p " + p + "/b/e",
		"ln " + p + " " + q,
	}
	if !strings.HasPrefix(q+"/", p+"/") { // into itself, it depends on the order of a directory
		commands = append(commands, "cp -r "+p+" "+q)
	}
	if _, err := exec.LookPath("git"); err == nil {
		// In a directory that nothing else moves: a view does not move a repository.
		repo := g.pick("g", "h/b")
		commands = append(commands, "mkdir -p "+repo+"; echo "+strconv.Itoa(g.IntN(100))+" >"+repo+"/a; git init -q "+repo+
			" && cd "+repo+" && git add -A && git -c user.name=n -c user.email=e commit -qm m")
	}
	return g.pick(commands...)
}
