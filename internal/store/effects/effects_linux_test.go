package effects_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

var (
	last = undo.Selection{}
	redo = undo.Selection{Redo: true}
)

type arena struct {
	t     *testing.T
	root  string
	level sandbox.Level
	store *undo.Store
	ws    *workspace.Workspace
	calls int
	// cache is the directory of programs' own files, empty by default, and env further variables.
	cache string
	env   []string
	// ignore are patterns of what is not kept.
	ignore []string
	// check is a script that succeeds on a complete tree.
	check string
}

func newArena(t *testing.T, level sandbox.Level) *arena {
	t.Helper()
	if level != sandbox.Off {
		testneed.NotShort(t, "needs a level of the sandbox")
	}
	report := sandbox.Detect(t.Context())
	if level == sandbox.Full && !report.Full.Works {
		testneed.Missing(t, report.Full.Reason)
	}
	if level == sandbox.Landlock && !report.Landlock.Works {
		testneed.Missing(t, report.Landlock.Reason)
	}
	root, err := filepath.EvalSymlinks(testneed.VisibleDir(t))
	require.NoError(t, err)
	store, err := undo.Open(t.TempDir(), undo.Options{})
	require.NoError(t, err)
	ws, err := workspace.Open(root, workspace.Options{Recorder: store.Recorder("", "", 0)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	return &arena{t: t, root: root, level: level, store: store, ws: ws}
}

func each(t *testing.T, test func(*arena)) {
	t.Helper()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock} {
		t.Run(string(level), func(t *testing.T) { test(newArena(t, level)) })
	}
}

func (a *arena) sh(script string) *effects.Report {
	a.t.Helper()
	return a.run([]string{"/bin/sh", "-c", script})
}

func (a *arena) run(argv []string) *effects.Report {
	a.t.Helper()
	a.calls++
	own := undo.Call{Session: "s", ID: fmt.Sprintf("call%d", a.calls), Step: a.calls, Tool: "sh"}
	call := effects.New(a.store, own, effects.Trees{Root: a.root, Ignore: a.ignore})
	policy := sandbox.Policy{Level: a.level, Workspace: a.root, NoCache: a.cache == "", CacheDir: a.cache}
	if a.cache != "" {
		policy.ReadWrite = []string{a.cache}
	}
	ended, err := proc.Run(effects.With(context.Background(), call), proc.Command{
		Argv: argv, Dir: a.root, Env: append(proc.Environ(nil), a.env...), Prepare: policy.Confine,
	})
	require.NoError(a.t, err)
	require.Zero(a.t, ended.ExitCode, "%s\n%s", ended.Stdout, ended.Stderr)
	return call.End()
}

func (a *arena) undo() {
	a.t.Helper()
	_, err := a.store.Undo(context.Background(), a.ws, last)
	require.NoError(a.t, err)
}

func (a *arena) redo() {
	a.t.Helper()
	_, err := a.store.Undo(context.Background(), a.ws, redo)
	require.NoError(a.t, err)
}

// tree describes all files: kind, mode, content or target by path.
func (a *arena) tree() map[string]string {
	a.t.Helper()
	found := make(map[string]string)
	var locked []func() // locks directories again
	defer func() {
		for _, lock := range slices.Backward(locked) {
			lock()
		}
	}()
	require.NoError(a.t, filepath.WalkDir(a.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(a.root, path)
		if rel == ".agent" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if mode := info.Mode(); (mode.IsDir() || mode.IsRegular()) && mode.Perm()&0o700 != 0o700 { // a user reads it too
			require.NoError(a.t, os.Chmod(path, mode.Perm()|0o700))
			defer func() {
				if !mode.IsDir() {
					require.NoError(a.t, os.Chmod(path, mode.Perm()))
					return
				}
				locked = append(locked, func() { require.NoError(a.t, os.Chmod(path, mode.Perm())) })
			}()
		}
		found[rel] = info.Mode().String()
		switch {
		case info.Mode().IsRegular() && info.Size() < 1<<20:
			data, err := os.ReadFile(path)
			if found[rel] += " " + string(data); len(data) > 64 {
				found[rel] = info.Mode().String() + " " + workspace.Hash(data)
			}
			return err
		case info.Mode().IsRegular():
			found[rel] += fmt.Sprint(" ", info.Size())
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[rel] += " " + target
			return err
		}
		return nil
	}))
	return found
}

// thereAndBack undoes and redoes a script's call.
func (a *arena) thereAndBack(prepare, script string, files ...string) {
	a.t.Helper()
	if prepare != "" {
		a.outside(prepare)
	}
	before := a.tree()
	report := a.sh(script)
	after := a.tree()
	require.NotEqual(a.t, before, after, "the script changes nothing")
	require.NoError(a.t, report.Err)
	assert.Empty(a.t, report.Note())
	if files != nil {
		slices.Sort(files)
		assert.Equal(a.t, files, report.Files)
	}
	a.undo()
	require.Equal(a.t, before, a.tree(), "after undo of: %s", script)
	a.redo()
	require.Equal(a.t, after, a.tree(), "after redo of: %s", script)
}

func (a *arena) outside(script string) {
	a.t.Helper()
	ended, err := proc.Run(context.Background(), proc.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: a.root,
		Env: proc.Environ(nil)})
	require.NoError(a.t, err)
	require.Zero(a.t, ended.ExitCode, "%s", ended.Stderr)
}

const some = "printf 'one\\n' >a.txt; mkdir -p d/e; printf x >d/e/x; printf y >d/y; ln -s a.txt l; chmod 640 d/y"

func TestUndoOfCommands(t *testing.T) {
	each(t, func(a *arena) {
		for _, c := range []struct{ name, prepare, script, files string }{
			{"remove", some, "rm a.txt", "a.txt"},
			{"write", some, "echo two >a.txt", "a.txt"},
			{"append", some, "echo two >>a.txt", "a.txt"},
			{"through a symlink", some, "echo two >l", "a.txt"},
			{"make through a dangling symlink", "ln -s new dangling", "echo two >dangling", "new"},
			{"sed", some, "sed -i s/one/two/ a.txt", "a.txt"},
			{"rename", some, "mv a.txt b.txt", "a.txt b.txt"},
			{"rename over", some, "mv a.txt d/y", "a.txt d/y"},
			{"rename a directory", some, "mv d f", "d d/e d/e/x d/y f f/e f/e/x f/y"},
			{"rename and change", some, "mv d f; echo z >f/y; rm f/e/x; mv f g", "d d/e d/e/x d/y g g/e g/y"},
			{"remove all", some, "rm -r d a.txt l", "a.txt d d/e d/e/x d/y l"},
			{"mode", some, "chmod 600 a.txt; chmod 700 d", "a.txt d"},
			{"mode and content", some, "chmod 600 a.txt; echo two >a.txt", "a.txt"},
			{"mode there and back", some, "chmod 600 a.txt; chmod 644 a.txt; echo z >d/y", "d/y"},
			{"symlink", some, "ln -sf d/y l; ln -s l m", "l m"},
			{"directory to file", some, "rm -r d; echo f >d", "d d/e d/e/x d/y"},
			{"file to directory", some, "rm a.txt; mkdir a.txt; echo z >a.txt/z", "a.txt a.txt/z"},
			{"file to symlink", some, "rm a.txt; ln -s d a.txt", "a.txt"},
			{"symlink to file", some, "rm l; echo z >l", "l"},
			{"made and gone", some, "echo t >tmp; rm tmp; mkdir q; rmdir q; echo z >d/y", "d/y"},
			{"new tree", some, "mkdir -p n/m; echo 1 >n/m/1; mv n o", "o o/m o/m/1"},
			{"hard link", some, "ln a.txt b.txt", "b.txt"},
			{"hard link and mode", some, "ln a.txt b.txt; chmod 600 b.txt", "a.txt b.txt"},
			{"hard link, writable for a while", some + "; ln a.txt b.txt; chmod 444 a.txt",
				"chmod +w a.txt; echo two >a.txt; chmod -w a.txt", "a.txt b.txt"},
			{"hard link of a read-only file, over another", some + "; chmod 444 a.txt", "ln -f a.txt d/y", "d/y"},
			{"in a directory", some, "cd d/e && echo z >../y && rm x", "d/e/x d/y"},
			{"descendants", some, "(setsid sh -c 'echo z >d/y' & wait)", "d/y"},
			{"truncate", some, ": >a.txt", "a.txt"},
			{"empty file", "", "touch z", "z"},
			{"file in place of a directory", some, "mv -T d f; echo z >d", "d d/e d/e/x d/y f f/e f/e/x f/y"},
			{"link in place of a directory", some, "mv d f; ln -s f d", "d d/e d/e/x d/y f f/e f/e/x f/y"},
			{"link that leads out in place of a directory", some, "mv d f; ln -s /usr d; mkdir d/y; true",
				"d d/e d/e/x d/y f f/e f/e/x f/y"},
			{"link to a directory, replaced", some + "; ln -s d f", "rm f; cp -r d f", "f f/e f/e/x f/y"},
			{"rename that fails at a link", some + "; ln -s ../d d/up; mkdir n; echo 1 >n/x; echo 1 >d/x",
				"mv -T n d/up || echo z >d/y", "d/y"},
			{"odd names", "", "printf 1 >\"$(printf 'a\\nb')\"; printf 2 >\"$(printf '\\377')\"", ""},
		} {
			a.t.Run(c.name, func(t *testing.T) {
				b := newArena(t, a.level)
				var files []string
				if c.files != "" {
					files = strings.Fields(c.files)
				}
				b.thereAndBack(c.prepare, c.script, files...)
			})
		}
	})
}
