package supervisor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/supervisor"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

type attempt struct {
	ready   chan struct{}
	gone    chan struct{}
	failure *tool.Error
}

func begun() *attempt { return &attempt{ready: make(chan struct{}), gone: make(chan struct{})} }

func (a *attempt) up() *attempt {
	close(a.ready)
	return a
}

func (a *attempt) Ready() <-chan struct{} { return a.ready }
func (a *attempt) Failure() *tool.Error   { return a.failure }
func (a *attempt) Gone() bool {
	select {
	case <-a.gone:
		return true
	default:
		return false
	}
}

type peer struct {
	supervisor.Supervisor[*attempt]
	begin   func() *attempt
	refused error
}

func (p *peer) Admit() error                      { return p.refused }
func (p *peer) Begin(context.Context) *attempt    { return p.begin() }
func (p *peer) Lost(a *attempt)                   { p.Lose(a, false, tool.Errorf(tool.Unavailable, "lost")) }
func (p *peer) Resting(time.Duration) *tool.Error { return tool.Errorf(tool.Unavailable, "rests") }

func TestAcquireWaits(t *testing.T) {
	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		peer *peer
		rest time.Duration
		ends bool // the context
		want error
	}{
		"started": {peer: &peer{begin: func() *attempt { return begun().up() }}},
		"started after a rest": {peer: &peer{begin: func() *attempt { return begun().up() }},
			rest: time.Millisecond},
		"refused":                           {peer: &peer{refused: refused}, want: refused},
		"the context ends during the start": {peer: &peer{begin: begun}, ends: true, want: context.Canceled},
		"the context ends during the rest": {peer: &peer{begin: begun}, rest: time.Hour, ends: true,
			want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			tt.peer.Patience = 2 * time.Hour
			if tt.rest > 0 {
				tt.peer.Breaker = supervisor.Breaker{First: tt.rest, Longest: tt.rest}
				tt.peer.Breaker.Fail(time.Now())
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.ends {
				cancel()
			}
			a, err := tt.peer.Acquire(ctx, tt.peer)
			require.ErrorIs(t, err, tt.want)
			assert.Equal(t, tt.want == nil, a != nil)
		})
	}
}

func TestOneStartForAll(t *testing.T) {
	a := begun()
	p := &peer{begin: func() *attempt { return a }}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := p.Acquire(t.Context(), p)
			assert.NoError(t, err)
			assert.Same(t, a, got)
		})
	}
	a.up()
	all.Wait()
	assert.Equal(t, 1, p.Starts)
	assert.Equal(t, supervisor.Running, p.State())
}

func TestWhatFailsRests(t *testing.T) {
	p := &peer{begin: func() *attempt {
		a := begun()
		a.failure = tool.Errorf(tool.Unavailable, "no")
		return a.up()
	}}
	p.Breaker = supervisor.Breaker{First: time.Hour, Longest: time.Hour}
	_, err := p.Acquire(t.Context(), p)
	require.ErrorContains(t, err, "no")
	p.Lock()
	p.Fail(p.Current, tool.Errorf(tool.Unavailable, "no"), true)
	assert.Equal(t, supervisor.Failed, p.State())
	assert.Greater(t, time.Until(p.RetryAt()), 50*time.Minute)
	p.Unlock()
	_, err = p.Acquire(t.Context(), p)
	require.ErrorContains(t, err, "rests")
	assert.Equal(t, 1, p.Starts)
	p.Succeeded()
	assert.Equal(t, supervisor.Idle, p.State())
}

func TestWhatIsGoneIsStartedAgain(t *testing.T) {
	var made []*attempt
	p := &peer{begin: func() *attempt {
		made = append(made, begun().up())
		return made[len(made)-1]
	}}
	p.Breaker.Free = 1
	first, err := p.Acquire(t.Context(), p)
	require.NoError(t, err)
	close(first.gone)
	second, err := p.Acquire(t.Context(), p)
	require.NoError(t, err)
	assert.NotSame(t, first, second)
	assert.Equal(t, 1, p.Losses)
	assert.False(t, p.Abandon(first, nil), "it is not current")
	assert.True(t, p.Abandon(second, tool.Errorf(tool.Unavailable, "hangs")))
	assert.Equal(t, 2, p.Losses)
}

func TestWhatNobodyUsesEnds(t *testing.T) {
	p := &peer{begin: func() *attempt { return begun().up() }}
	p.IdleTimeout = time.Millisecond
	a, err := p.Acquire(t.Context(), p)
	require.NoError(t, err)
	again, err := p.Acquire(t.Context(), p)
	require.NoError(t, err)
	require.Same(t, a, again)
	ended := make(chan struct{})
	p.Release(a, func() { assert.Fail(t, "it is in use") })
	p.Release(a, func() { close(ended) })
	testproc.Receive(t, ended)
	p.Wait()
	next, err := p.Acquire(t.Context(), p)
	require.NoError(t, err)
	assert.NotSame(t, a, next)
	p.Release(a, func() { assert.Fail(t, "it has a successor") })
	assert.Same(t, next, p.Shut())
	assert.Equal(t, supervisor.Closed, p.State())
	assert.True(t, p.Lose(next, false, nil), "what ends after the closing was to be expected")
	assert.Zero(t, p.Losses)
}
