package state_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/state"
)

const workerEnv = "TOOLHOST_STATE_TEST_WORKER"

// TestMain also runs the test binary as a worker process.
func TestMain(m *testing.M) {
	if path := os.Getenv(workerEnv); path != "" {
		os.Exit(work(path))
	}
	os.Exit(m.Run())
}

// work increments a counter a number of times, or forever if that is 0.
func work(path string) int {
	count, _ := strconv.Atoi(os.Getenv("COUNT"))
	store, err := state.Open(path)
	if err != nil {
		return fail(err)
	}
	defer store.Close()
	s := store.Scope("worker", tool.PersistentScope, "")
	for i := 0; count == 0 || i < count; i++ {
		if err := increment(s, "counter"); err != nil {
			return fail(err)
		}
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func increment(s tool.State, key string) error {
	return s.Update(context.Background(), key, func(old []byte) ([]byte, error) {
		n, err := number(old)
		return []byte(strconv.Itoa(n + 1)), err
	})
}

func number(data []byte) (int, error) {
	if data == nil {
		return 0, nil
	}
	return strconv.Atoi(string(data))
}

func worker(t *testing.T, path string, count int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+path, "COUNT="+strconv.Itoa(count))
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	return cmd
}

func open(t *testing.T) *state.Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "toolhost", "w"))
}

func openAt(t *testing.T, path string) *state.Store {
	t.Helper()
	store, err := state.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

func TestOpenTouchesNothing(t *testing.T) {
	store := open(t)
	require.NoError(t, store.EndSession(t.Context(), "s"))
	_, err := os.Stat(store.Dir())
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, store.Close())
}

// TestReadingMakesNoFile reads what was never written, as in a read-only workspace.
func TestReadingMakesNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".agent")
	store, err := state.Open(dir)
	require.NoError(t, err)
	s := store.Scope("x", tool.SessionScope, "s")
	_, ok, err := s.Get(context.Background(), "k")
	require.NoError(t, err)
	assert.False(t, ok)
	keys, err := s.Keys(context.Background(), "")
	require.NoError(t, err)
	assert.Equal(t, []string{}, keys)
	assert.NoDirExists(t, dir)

	// Another host writes the first value.
	other, err := state.Open(dir)
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Scope("x", tool.SessionScope, "s").Set(context.Background(), "k", []byte("v")))
	value, ok, err := s.Get(context.Background(), "k")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "v", string(value))

	fresh, err := state.Open(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, fresh.Close())
	_, _, err = fresh.Scope("x", tool.SessionScope, "s").Get(context.Background(), "k")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
}

func TestOpenNeedsAbsolutePath(t *testing.T) {
	for _, path := range []string{"", "state", "/a\x00b"} {
		_, err := state.Open(path)
		assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err), "%q", path)
	}
}

func kinds(store *state.Store) map[string]tool.State {
	return map[string]tool.State{"session": store.Scope("todo", tool.SessionScope, "../one/two"),
		"persistent": store.Scope("todo", tool.PersistentScope, ""), "directory": store.Directory("approvals")}
}

func TestGetSetDelete(t *testing.T) {
	for name, s := range kinds(open(t)) {
		t.Run(name, func(t *testing.T) { testGetSetDelete(t, s) })
	}
	for name, s := range kinds(state.InMemory()) {
		t.Run(name+" in memory", func(t *testing.T) { testGetSetDelete(t, s) })
	}
}

func testGetSetDelete(t *testing.T, s tool.State) {
	ctx := t.Context()
	_, ok, err := s.Get(ctx, "k")
	require.NoError(t, err)
	assert.False(t, ok)

	for _, value := range [][]byte{[]byte("v"), {}, {0, 1, 0xff}, []byte("ü\u0301"),
		[]byte(`{"a":["<&>",1e400]}`), []byte("{ }"), []byte(`"text"`), nil} {
		require.NoError(t, s.Set(ctx, "k", value))
		got, ok, err := s.Get(ctx, "k")
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, append([]byte{}, value...), got)
	}
	require.NoError(t, s.Delete(ctx, "k"))
	require.NoError(t, s.Delete(ctx, "k"))
	_, ok, err = s.Get(ctx, "k")
	require.NoError(t, err)
	assert.False(t, ok)
}

func TestUpdate(t *testing.T) {
	ctx := t.Context()
	s := open(t).Scope("todo", tool.SessionScope, "one")
	require.NoError(t, s.Update(ctx, "k", func(old []byte) ([]byte, error) {
		assert.Nil(t, old)
		return []byte("1"), nil
	}))
	refusal := errors.New("no")
	err := s.Update(ctx, "k", func(old []byte) ([]byte, error) {
		assert.Equal(t, "1", string(old))
		return []byte("2"), refusal
	})
	assert.Equal(t, refusal, err)
	value, _, err := s.Get(ctx, "k")
	require.NoError(t, err)
	assert.Equal(t, "1", string(value))
	require.NoError(t, s.Update(ctx, "k", func([]byte) ([]byte, error) { return nil, nil }))
	_, ok, err := s.Get(ctx, "k")
	require.NoError(t, err)
	assert.False(t, ok)
}

func TestBounds(t *testing.T) {
	ctx := t.Context()
	s := open(t).Scope("todo", tool.SessionScope, "one")
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(s.Set(ctx, "", []byte("v"))))
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(s.Set(ctx, string(make([]byte, state.MaxKey+1)), nil)))
	assert.Equal(t, tool.TooLarge, tool.CodeOf(s.Set(ctx, "k", make([]byte, state.MaxValue+1))))
	require.NoError(t, s.Set(ctx, "k", make([]byte, state.MaxValue)))
}

func TestKeys(t *testing.T) {
	for name, s := range kinds(open(t)) {
		t.Run(name, func(t *testing.T) { testKeys(t, s) })
	}
}

func testKeys(t *testing.T, s tool.State) {
	ctx := t.Context()
	keys, err := s.Keys(ctx, "")
	require.NoError(t, err)
	assert.Equal(t, []string{}, keys)
	for _, key := range []string{"b%", "a_1", "ab", "ä", "a%2", "A"} {
		require.NoError(t, s.Set(ctx, key, nil))
	}
	for prefix, want := range map[string][]string{
		"":   {"A", "a%2", "a_1", "ab", "b%", "ä"},
		"a":  {"a%2", "a_1", "ab"},
		"a_": {"a_1"},
		"a%": {"a%2"},
		"ä":  {"ä"},
		"z":  {},
	} {
		keys, err := s.Keys(ctx, prefix)
		require.NoError(t, err)
		assert.Equal(t, want, keys, "prefix %q", prefix)
	}
}

func TestScopesAreApart(t *testing.T) {
	ctx := t.Context()
	store := open(t)
	one := store.Scope("todo", tool.SessionScope, "one")
	two := store.Scope("todo", tool.SessionScope, "two")
	other := store.Scope("other", tool.SessionScope, "one")
	kept := store.Scope("todo", tool.PersistentScope, "one")
	for name, s := range map[string]tool.State{"one": one, "two": two, "other": other, "kept": kept} {
		require.NoError(t, s.Set(ctx, "k", []byte(name)))
	}
	require.NoError(t, store.EndSession(ctx, "one"))
	for name, s := range map[string]tool.State{"two": two, "kept": store.Scope("todo", tool.PersistentScope, "two")} {
		value, ok, err := s.Get(ctx, "k")
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, name, string(value))
	}
	for _, s := range []tool.State{one, other} {
		_, ok, err := s.Get(ctx, "k")
		require.NoError(t, err)
		assert.False(t, ok)
	}
}

func TestDropOlder(t *testing.T) {
	ctx := t.Context()
	store := open(t)
	require.NoError(t, store.Scope("a", tool.SessionScope, "old").Set(ctx, "k", nil))
	require.NoError(t, store.Scope("a", tool.PersistentScope, "").Set(ctx, "k", nil))
	dropped, err := store.DropOlder(ctx, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	assert.Zero(t, dropped)
	dropped, err = store.DropOlder(ctx, time.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.EqualValues(t, 1, dropped)
	_, ok, err := store.Scope("a", tool.PersistentScope, "").Get(ctx, "k")
	require.NoError(t, err)
	assert.True(t, ok)
}

func TestOwnerOnly(t *testing.T) {
	store := open(t)
	require.NoError(t, store.Scope("a", tool.SessionScope, "s").Set(t.Context(), "k", nil))
	require.NoError(t, store.Scope("a", tool.PersistentScope, "").Set(t.Context(), "k", nil))
	require.NoError(t, store.Directory("approvals").Set(t.Context(), "k", nil))
	for name, mode := range map[string]fs.FileMode{"": 0o700, "state.lock": 0o600, "sessions": 0o700,
		"sessions/s.json": 0o600, "memories.json": 0o600, "approvals": 0o700, "approvals/k.json": 0o600} {
		info, err := os.Stat(filepath.Join(store.Dir(), name))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), name)
	}
}

func TestPersistsAndCloses(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "a b#c?d%20")
	first := openAt(t, path)
	require.NoError(t, first.Scope("a", tool.PersistentScope, "").Set(ctx, "k", []byte("v")))
	require.NoError(t, first.Close())
	_, _, err := first.Scope("a", tool.PersistentScope, "").Get(ctx, "k")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))

	value, ok, err := openAt(t, path).Scope("a", tool.PersistentScope, "").Get(ctx, "k")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "v", string(value))
}

func TestManyGoroutines(t *testing.T) {
	store := open(t)
	s := store.Scope("a", tool.SessionScope, "s")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				assert.NoError(t, increment(s, "n"))
			}
		})
	}
	wg.Wait()
	assertCounter(t, s, "n", 160)
}

func assertCounter(t *testing.T, s tool.State, key string, want int) {
	t.Helper()
	value, _, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(want), string(value))
}

// Several processes, started at once on a file that does not exist yet, lose no update.
func TestManyProcesses(t *testing.T) {
	store := open(t)
	var workers []*exec.Cmd
	for range 5 {
		workers = append(workers, worker(t, store.Dir(), 100))
	}
	for _, w := range workers {
		require.NoError(t, w.Wait())
	}
	assertCounter(t, store.Scope("worker", tool.PersistentScope, ""), "counter", 500)
}

// Processes killed at random moments leave a file that is whole, and readable and writable by the next one, and
// a counter that never decreases.
func TestKilledProcesses(t *testing.T) {
	store := open(t)
	s := store.Scope("worker", tool.PersistentScope, "")
	count := func() int {
		value, _, err := s.Get(t.Context(), "counter")
		require.NoError(t, err)
		n, err := number(value)
		require.NoError(t, err)
		return n
	}
	last := 0
	for round := range 15 {
		w := worker(t, store.Dir(), 0)
		if round%3 != 0 { // the others are killed while they start, or later
			for end := time.Now().Add(time.Minute); count() == last && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		require.NoError(t, w.Process.Kill())
		w.Wait()
		n := count()
		assert.GreaterOrEqual(t, n, last)
		last = n
	}
	assert.Positive(t, last)
	require.NoError(t, increment(s, "counter"))
	assertCounter(t, s, "counter", last+1)
}

// The files are readable JSON with no more than what was set.
func TestFiles(t *testing.T) {
	ctx := t.Context()
	store := open(t)
	require.NoError(t, store.Scope("agent", tool.SessionScope, "s1").Set(ctx, "todos", []byte(`[{"content":"a <b>"}]`)))
	require.NoError(t, store.Scope("ocode", tool.PersistentScope, "").Set(ctx, "memory/x", []byte("plain text")))
	require.NoError(t, store.Directory("approvals").Set(ctx, "abcd", []byte(`{"id":"abcd"}`)))
	for name, want := range map[string]string{
		"sessions/s1.json":    `{"agent":{"todos":{"json":[{"content":"a <b>"}]}}}`,
		"memories.json":       `{"ocode":{"memory/x":{"text":"plain text"}}}`,
		"approvals/abcd.json": `{"id":"abcd"}`,
	} {
		got, err := os.ReadFile(filepath.Join(store.Dir(), name))
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), name)
	}
	require.NoError(t, store.Scope("ocode", tool.PersistentScope, "").Delete(ctx, "memory/x"))
	assert.NoFileExists(t, filepath.Join(store.Dir(), "memories.json"), "it would be empty")
	require.NoError(t, store.EndSession(ctx, "s1"))
	assert.NoFileExists(t, filepath.Join(store.Dir(), "sessions", "s1.json"))
}
