package registry_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/registry"
)

type member struct {
	version int
	used    bool
	closed  atomic.Int32
}

func (m *member) Used() bool { return m.used }
func (m *member) Close()     { m.closed.Add(1) }

// add adds a member that is the same as one of equal version.
func add(r *registry.Registry[*member], name string, version int) error {
	same := func(m *member) bool { return m.version == version }
	return r.Add(name, same, func() (*member, error) { return &member{version: version, used: true}, nil })
}

func get(t *testing.T, r *registry.Registry[*member], name string) *member {
	t.Helper()
	m, ok := r.Find(name)
	require.True(t, ok)
	return m
}

// following returns a registry with members a and b, and one that follows it, with a unchanged and b
// changed.
func following(t *testing.T) (before, next *registry.Registry[*member]) {
	t.Helper()
	before, next = new(registry.Registry[*member]), new(registry.Registry[*member])
	require.NoError(t, add(before, "a", 1))
	require.NoError(t, add(before, "b", 1))
	next.Follow(before)
	require.NoError(t, add(next, "a", 1))
	require.NoError(t, add(next, "b", 2))
	return before, next
}

func TestOnlyTheSameMemberIsTakenOver(t *testing.T) {
	before, next := following(t)
	oldA, oldB := get(t, before, "a"), get(t, before, "b")
	assert.Same(t, oldA, get(t, next, "a"))
	assert.NotSame(t, oldB, get(t, next, "b"))

	assert.Equal(t, []string{"b"}, before.HandOver(next))
	assert.Equal(t, []*member{oldB}, before.All())
	before.Remove("b")
	assert.EqualValues(t, 1, oldB.closed.Load())
	assert.True(t, before.Close())
	assert.Zero(t, oldA.closed.Load(), "next still has it")
	assert.True(t, next.Close())
	assert.EqualValues(t, 1, oldA.closed.Load())
	assert.False(t, next.Close(), "closed before")
}

// Closing a following registry leaves the other's members running.
func TestGivingUpARosterClosesOnlyItsOwn(t *testing.T) {
	before, next := following(t)
	changed := get(t, next, "b")
	require.True(t, next.Close())
	assert.EqualValues(t, 1, changed.closed.Load())
	for _, m := range before.All() {
		assert.Zero(t, m.closed.Load())
	}
	assert.Equal(t, []string{"a", "b"}, before.HandOver(nil))
}

func TestNothingIsTakenOverAfterTheHandOver(t *testing.T) {
	before, next := following(t)
	before.HandOver(next)
	require.NoError(t, add(before, "c", 1))
	require.NoError(t, add(next, "c", 1))
	assert.NotSame(t, get(t, before, "c"), get(t, next, "c"))
}

func TestOnlyWhatRunsAndHasChangedIsTried(t *testing.T) {
	wrong := errors.New("wrong")
	for name, tt := range map[string]struct {
		running bool
		want    error
	}{"running": {true, wrong}, "idle": {false, nil}} {
		t.Run(name, func(t *testing.T) {
			_, next := following(t)
			require.NoError(t, add(next, "new", 1))
			var tried []*member
			err := next.TryChanged(func(*member) bool { return tt.running }, func(m *member) error {
				tried = append(tried, m)
				return wrong
			})
			assert.Equal(t, tt.want, err)
			if tt.running {
				assert.Equal(t, []*member{get(t, next, "b")}, tried)
			}
		})
	}
}

func TestAMemberThatIsRefusedIsClosed(t *testing.T) {
	r := new(registry.Registry[*member])
	require.NoError(t, add(r, "a", 1))
	refused := &member{version: 2}
	create := func() (*member, error) { return refused, nil }
	assert.ErrorIs(t, r.Add("a", nil, create), registry.ErrTaken)
	assert.EqualValues(t, 1, refused.closed.Load())
	r.Close()
	assert.ErrorIs(t, r.Add("b", nil, create), registry.ErrClosed)
	assert.EqualValues(t, 2, refused.closed.Load())
}

// However uses of a member overlap, it is closed once, and never while a registry has it.
func TestAMemberIsClosedOnce(t *testing.T) {
	for range 200 {
		before := new(registry.Registry[*member])
		require.NoError(t, add(before, "a", 1))
		first := get(t, before, "a")
		next := new(registry.Registry[*member])
		next.Follow(before)
		var both sync.WaitGroup
		both.Go(func() { before.Remove("a") })
		both.Go(func() { assert.NoError(t, add(next, "a", 1)) })
		both.Wait()
		m := get(t, next, "a")
		assert.Zero(t, m.closed.Load())
		next.Close()
		assert.EqualValues(t, 1, m.closed.Load())
		assert.EqualValues(t, 1, first.closed.Load())
	}
}
