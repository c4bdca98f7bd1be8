package plugins_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

type lifeKey struct{}

// lives collects Life events.
type lives struct {
	mu    sync.Mutex
	names []string
	whose []any
	last  map[string]any
}

func (l *lives) tell(ctx context.Context, plugin, event string, details map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, plugin+" "+event)
	l.whose = append(l.whose, ctx.Value(lifeKey{}))
	l.last = details
}

func (l *lives) seen() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.names...)
}

func TestLifeIsTold(t *testing.T) {
	l := new(lives)
	f := newFixture(t, func(o *plugins.Options) { o.Life, o.CancelGrace = l.tell, 200*time.Millisecond })
	tools := f.add(t, testPlugin(t, "faulty"))
	assert.Equal(t, []string{"faulty plugin_started"}, l.seen(), "listing had to start it")
	assert.NotZero(t, l.last["pid"])

	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), lifeKey{}, "call 2"))
	_, err := do(ctx, tools["do"], "exit", "")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.Equal(t, []string{"faulty plugin_started", "faulty plugin_crashed"}, l.seen())
	assert.Equal(t, "exit status 7", l.last["status"])
	_, err = do(ctx, tools["do"], "pid", "")
	assert.NoError(t, err)
	cancel()

	begun := t.TempDir() + "/begun"
	_, err = do(testproc.Overdue(t, begun), tools["do"], "hang", begun)
	assert.Equal(t, tool.Timeout, tool.CodeOf(err))
	_, err = do(t.Context(), tools["do"], "pid", "")
	assert.NoError(t, err)
	f.Remove("faulty")
	assert.Equal(t, []string{
		"faulty plugin_started", "faulty plugin_crashed", "faulty plugin_started", "faulty plugin_unresponsive",
		"faulty plugin_started", "faulty plugin_stopped",
	}, l.seen())
	assert.Equal(t, "call 2", l.whose[3], "what happens to a process is told to whom started it")

	f.addBroken(t, testPlugin(t, "exits"))
	assert.Equal(t, "exits plugin_start_failed", l.seen()[6])
	assert.Contains(t, l.last["error"], "cannot find my data")
}

func (f *fixture) addBroken(t *testing.T, spec plugins.Spec) {
	t.Helper()
	assert.NoError(t, f.Add(spec))
	_, err := f.Source(spec.Name).Tools(t.Context())
	assert.Error(t, err)
}
