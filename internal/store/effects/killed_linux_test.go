package effects_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// killedEnv makes the test binary one that [TestKilledHosts] kills. Its arguments are what to do, the level,
// the workspace, and the directories of calls and changes.
const killedEnv = "TOOLHOST_EFFECTS_TEST_KILLED"

func TestMain(m *testing.M) {
	if os.Getenv(killedEnv) == "" {
		os.Exit(m.Run())
	}
	if err := beKilled(os.Args[1], sandbox.Level(os.Args[2]), os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// beKilled does it as one call, and prints when it begins and has ended.
func beKilled(what string, level sandbox.Level, root, kept, state string) error {
	store, err := undo.Open(kept, undo.Options{})
	if err != nil {
		return err
	}
	ws, err := workspace.Open(root, workspace.Options{Recorder: store.Recorder("", "", 0)})
	if err != nil {
		return err
	}
	r, err := record.New(record.Options{Root: root, State: state})
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := context.Background()
	id := fmt.Sprint(what, "-", os.Getpid())
	if err := r.Event(ctx, "s", "tool_call_started", map[string]string{"request_id": id, "tool": what}); err != nil {
		return err
	}
	fmt.Println("begins")
	switch what {
	case "undo":
		_, err = store.Undo(ctx, ws, undo.Selection{Session: "s", Call: "many"})
	case "redo":
		_, err = store.Undo(ctx, ws, undo.Selection{Session: "s", Call: "many", Redo: true})
	default:
		err = runMany(store, level, root)
	}
	fmt.Println("ended")
	_ = r.Event(ctx, "s", "tool_call_finished", map[string]string{"request_id": id, "tool": what, "status": "success"})
	return err
}

const (
	makeMany = `for n in 1 2 3 4 5 6 7 8; do mkdir -p d$n/e; seq $n 900 >d$n/f; echo $n >d$n/e/g; ln -s f d$n/l; done
chmod 600 d2/f; chmod 700 d3`
	changeMany = `for n in 1 2 3 4 5 6 7 8; do echo $n >>d$n/f; mv d$n/e d$n/x; rm d$n/l; mkdir -p new/$n; echo $n >new/$n/f
chmod 640 d$n/f; done; mv d1 new/d; rm -r d2; ln -s d4 d2; mv -T d3/x d3/y; echo f >d3/x`
)

// runMany runs a command that changes much, as the call "many".
func runMany(store *undo.Store, level sandbox.Level, root string) error {
	call := effects.New(store, undo.Call{Session: "s", ID: "many", Tool: "sh"}, effects.Trees{Root: root})
	policy := sandbox.Policy{Level: level, Workspace: root, NoCache: true}
	_, err := proc.Run(effects.With(context.Background(), call), proc.Command{
		Argv: []string{"/bin/sh", "-c", changeMany}, Dir: root, Env: proc.Environ(nil), Prepare: policy.Confine,
	})
	if err != nil {
		return err
	}
	return call.End().Err
}

// killed starts a child and kills it at a random point, unless it ends before. It returns how long the child
// had, from its beginning.
func (a *arena) killed(what, state string, patience time.Duration) time.Duration {
	a.t.Helper()
	cmd := exec.Command(os.Args[0], what, string(a.level), a.root, a.store.Dir(), state)
	cmd.Env = append(os.Environ(), killedEnv+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(a.t, err)
	require.NoError(a.t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(a.t, lines.Scan())
	began := time.Now()
	ended := make(chan bool, 1)
	go func() { ended <- lines.Scan() }()
	select {
	case <-ended:
	case <-time.After(rand.N(patience)):
		_ = cmd.Process.Kill()
		<-ended
	}
	took := time.Since(began)
	_ = cmd.Wait()
	return took
}

// still waits until the tree no longer changes: the processes of a killed host end a moment later.
func (a *arena) still() {
	a.t.Helper()
	require.Eventually(a.t, func() bool {
		links, err := filepath.Glob("/proc/[0-9]*/cwd")
		return err == nil && !slices.ContainsFunc(links, func(link string) bool {
			dir, _ := os.Readlink(link) // empty for processes of other users
			return strings.HasPrefix(dir, a.root)
		})
	}, 10*time.Minute, 5*time.Millisecond)
}

// TestKilledHosts kills the host at random points while it records, undoes or redoes a command's changes: after
// the next undo or redo the tree is as before or after the command, and the record verifies.
func TestKilledHosts(t *testing.T) {
	testproc.Unchanged(t)
	rounds := 6
	if testneed.Long() {
		rounds = 250
	}
	if n, err := strconv.Atoi(os.Getenv(SequencesEnv)); err == nil {
		rounds = n / 2
	}
	each(t, func(first *arena) {
		state := first.t.TempDir()
		first.outside(makeMany)
		before := first.tree()
		first.outside(changeMany)
		after := first.tree()
		wait := map[string]time.Duration{"run": time.Second, "undo": time.Second, "redo": time.Second}
		for round := range rounds {
			a := newArena(first.t, first.level)
			a.outside(makeMany)
			ways := []string{"run", "undo", "redo"}
			way := ways[round%3]
			if way != "run" {
				require.NoError(first.t, runMany(a.store, a.level, a.root))
				require.Equal(first.t, after, a.tree())
			}
			if way == "redo" {
				a.recover(undo.Selection{Session: "s", Call: "many"})
			}
			took := a.killed(way, state, wait[way])
			if round < 3 {
				wait[way] = 2 * took // the first has ended by itself
			}
			a.still()
			said := fmt.Sprint("round ", round, ", killed in ", way, " after ", took)
			switch way {
			case "run":
				a.recover(undo.Selection{Session: "s", Call: "many", Ours: true})
				require.Equal(first.t, before, a.tree(), said)
			case "undo":
				a.recover(undo.Selection{Session: "s", Call: "many"})
				require.Equal(first.t, before, a.tree(), said)
				a.recover(undo.Selection{Session: "s", Call: "many", Redo: true})
				require.Equal(first.t, after, a.tree(), said)
			case "redo":
				a.recover(undo.Selection{Session: "s", Call: "many", Redo: true})
				require.Equal(first.t, after, a.tree(), said)
				a.recover(undo.Selection{Session: "s", Call: "many"})
				require.Equal(first.t, before, a.tree(), said)
			}
		}
		r, err := record.New(record.Options{Root: first.root, State: state})
		require.NoError(first.t, err)
		defer r.Close()
		calls, err := r.Calls(first.t.Context(), record.Filter{})
		require.NoError(first.t, err)
		for _, c := range calls {
			d, err := r.Show(first.t.Context(), record.Filter{Session: c.Session, Request: c.Request})
			require.NoError(first.t, err)
			require.Empty(first.t, d.Problems)
		}
	})
}

// recover undoes or redoes what may be undone or redone already.
func (a *arena) recover(sel undo.Selection) {
	a.t.Helper()
	_, err := a.ws.Sweep(a.t.Context())
	require.NoError(a.t, err)
	_, err = a.store.Undo(a.t.Context(), a.ws, sel)
	if code := tool.CodeOf(err); code != tool.NoChange && code != tool.NotFound {
		require.NoError(a.t, err)
	}
}
