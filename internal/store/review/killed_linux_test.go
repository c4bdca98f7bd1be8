package review_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/store/review"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// childEnv makes the test binary commit a view instead of testing.
const childEnv = "TOOLHOST_REVIEW_CHILD"

func TestMain(m *testing.M) {
	if call := os.Getenv(childEnv); call != "" {
		if err := committing(call, os.Args[1], os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// committing commits a view to a workspace as a call, after printing that it begins.
func committing(call, root, state, views string) error {
	store, err := undo.Open(state, undo.Options{})
	if err != nil {
		return err
	}
	ws, err := workspace.Open(root, workspace.Options{Recorder: store.Recorder("", "", 0), Symlinks: workspace.Block,
		Protect: []string{}})
	if err != nil {
		return err
	}
	defer ws.Close()
	v := view.Find(views, call)
	if v == nil {
		return errors.New("the view is not there")
	}
	changes, err := review.Read(context.Background(), v, root)
	if err != nil {
		return err
	}
	fmt.Println("begins")
	own := undo.Call{Session: "s", ID: call, Tool: "sh"}
	_, _, err = changes.Commit(undo.WithCall(context.Background(), own), ws.Restoring())
	return err
}

const (
	manyThings = `mkdir -p gone/deep; for i in 1 2 3 4 5 6 7 8; do mkdir d$i; echo old $i >d$i/changed
echo old $i >d$i/removed; echo old $i >gone/deep/$i; ln -s old$i d$i/link; done; mkdir kind; echo x >kind/x; echo y >thing`
	changesAll = `for i in 1 2 3 4 5 6 7 8; do echo new $i >d$i/changed; rm d$i/removed; mkdir -p fresh/$i
echo new >fresh/$i/file; chmod 700 d$i/changed; ln -sfn new$i d$i/link; ln -s way fresh/$i/l; done
rm -r gone kind thing; echo z >kind; mkdir thing; echo t >thing/t`
)

// TestKilledCommits kills the program in the middle of a commit. Then every path is old or new, and undo takes
// back what was done.
func TestKilledCommits(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	testproc.Unchanged(t)
	kills := 6
	if testneed.Long() {
		kills = 500
	}
	a := newArena(t)
	a.outside(manyThings)
	before := tree(t, a.root)
	full := a.kill(before, "whole", 0) // to its end
	between := 0
	for n := range kills {
		if took := a.kill(before, fmt.Sprintf("kill%d", n), rand.N(full)+1); took < 0 {
			between++
		}
	}
	t.Logf("%d kills, %d of them in the middle of a commit, which takes %s", kills, between, full)
	changes := a.try(changesAll)
	_, err := a.commit(changes)
	require.NoError(t, err, "control: the next call")
}

// kill has another process commit a change of everything, kills it after a time, 0 for never, and undoes that.
// It returns how long the commit took, negative if it was killed when something was done.
func (a *arena) kill(before map[string]string, call string, after time.Duration) time.Duration {
	a.t.Helper()
	v := a.view(changesAll)
	require.NoError(a.t, v.Keep(call))
	cmd := exec.Command(os.Args[0], a.root, a.state, filepath.Dir(v.Dir()))
	cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"="+call), os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(a.t, err)
	require.NoError(a.t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(a.t, err)
	began := time.Now()
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	took := time.Since(began)
	_, swept := a.plain.Sweep(context.Background()) // as the next start does
	require.NoError(a.t, swept)
	is := tree(a.t, a.root)
	if err == nil {
		a.whole = is
	}
	require.NotNil(a.t, a.whole, "the commit fails: %v", err)
	a.eitherWay(before, is, call)
	changed := !assert.ObjectsAreEqual(before, is)
	_, err = a.store.Undo(context.Background(), a.links, undo.Selection{Session: "s", Call: call})
	if changed || code(err) != tool.NoChange && code(err) != tool.NotFound {
		require.NoError(a.t, err, call)
	}
	same(a.t, before, tree(a.t, a.root), "undo of "+call)
	if changed && !assert.ObjectsAreEqual(a.whole, is) {
		return -1
	}
	return took
}

func code(err error) tool.Code {
	if err == nil {
		return ""
	}
	return tool.CodeOf(err)
}

// eitherWay checks that every path is old or new. What changes its type or target may be missing, and what is
// new may not have its mode yet.
func (a *arena) eitherWay(before, is map[string]string, call string) {
	a.t.Helper()
	for path := range join(before, a.whole, is) {
		was, end, now := before[path], a.whole[path], is[path]
		switch {
		case now == was || now == end:
		case now == "" && was != "" && end != "" && (was[0] != end[0] || was[0] == 'L'):
		case contentOf(now) == contentOf(end) && contentOf(now) != "":
		default:
			require.Failf(a.t, "torn", "%s, %s is %q, was %q and is to be %q", call, path, now, was, end)
		}
	}
}

// contentOf returns the content of a path, without its mode.
func contentOf(what string) string {
	if len(what) <= len("-rw-r--r-- ") {
		return ""
	}
	return what[len("-rw-r--r-- "):]
}

func join(maps ...map[string]string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range maps {
		for path := range m {
			all[path] = true
		}
	}
	return all
}
