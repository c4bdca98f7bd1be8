package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/state"
)

type bench struct {
	*Store
	ctx context.Context
	at  time.Time
}

func open(t *testing.T) *bench {
	t.Helper()
	kept, err := state.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = kept.Close() })
	s, err := Open(kept.Directory(StateDir), t.TempDir(), t.TempDir())
	require.NoError(t, err)
	b := &bench{Store: s, ctx: t.Context(), at: time.Now()}
	s.now = func() time.Time { return b.at }
	return b
}

func wipe() Call {
	return Call{Toolset: "review", Session: "s1", Tool: "wipe", Params: json.RawMessage(`{"path":"a","force":true}`)}
}

func (b *bench) approved(t *testing.T) {
	t.Helper()
	p, err := b.File(b.ctx, wipe(), "It is dangerous.")
	require.NoError(t, err)
	require.NoError(t, b.Approve(b.ctx, p))
}

func TestAnApprovalIsForOneCallOnce(t *testing.T) {
	b := open(t)
	taken, err := b.Take(wipe())
	require.NoError(t, err)
	assert.Nil(t, taken, "nothing is approved yet")
	b.approved(t)
	for name, change := range map[string]func(*Call){
		"another tool":      func(c *Call) { c.Tool = "wipe_all" },
		"other parameters":  func(c *Call) { c.Params = json.RawMessage(`{"path":"b","force":true}`) },
		"another session":   func(c *Call) { c.Session = "s2" },
		"a connection":      func(c *Call) { c.Connect = "a.example:443" },
		"another toolset":   func(c *Call) { c.Toolset = "" },
		"moved boundaries":  func(c *Call) { c.Session, c.Tool = "s1wipe", "" },
		"a parameter added": func(c *Call) { c.Params = json.RawMessage(`{"path":"a","force":true,"x":1}`) },
	} {
		other := wipe()
		change(&other)
		taken, err := b.Take(other)
		require.NoError(t, err)
		assert.Nil(t, taken, name)
	}
	same := wipe()
	same.Params = json.RawMessage(` { "force" : true, "path":"a"}`)
	taken, err = b.Take(same)
	require.NoError(t, err)
	assert.NotNil(t, taken, "the order of keys says nothing")
	taken, err = b.Take(wipe())
	require.NoError(t, err)
	assert.Nil(t, taken, "it is used up")
	waiting, err := b.List(b.ctx)
	require.NoError(t, err)
	assert.Empty(t, waiting)
}

func TestApprovalsExpire(t *testing.T) {
	b := open(t)
	p, err := b.File(b.ctx, wipe(), "")
	require.NoError(t, err)
	b.at = b.at.Add(PendingTime + time.Second)
	_, err = b.Get(b.ctx, p.ID)
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))

	b.approved(t)
	b.at = b.at.Add(GrantTime + time.Second)
	taken, err := b.Take(wipe())
	require.NoError(t, err)
	assert.Nil(t, taken)
}

func TestTheSameCallWaitsOnce(t *testing.T) {
	b := open(t)
	first, err := b.File(b.ctx, wipe(), "why")
	require.NoError(t, err)
	again, err := b.File(b.ctx, wipe(), "why")
	require.NoError(t, err)
	assert.Equal(t, first.ID, again.ID)
	for n := range MaxPending + 5 {
		b.at = b.at.Add(time.Second)
		call := wipe()
		call.Tool = fmt.Sprintf("t%d", n)
		_, err := b.File(b.ctx, call, "")
		require.NoError(t, err)
	}
	waiting, err := b.List(b.ctx)
	require.NoError(t, err)
	assert.Len(t, waiting, MaxPending)
	assert.Equal(t, "t5", waiting[0].Tool, "the oldest gave way")
}

func TestOnlyOneOfManyTakesAnApproval(t *testing.T) {
	b := open(t)
	b.approved(t)
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if taken, err := b.Take(wipe()); err == nil && taken != nil && !taken.Refused {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, won.Load())
}

func TestForgedAndDamagedApprovalsCountNothing(t *testing.T) {
	b := open(t)
	digest := wipe().Digest()
	require.NoError(t, os.MkdirAll(b.dir, 0o700))
	for name, content := range map[string]string{
		"no JSON":         "yes",
		"another digest":  `{"version":2,"digest":"00","expires":"2999-01-01T00:00:00Z"}`,
		"another version": `{"version":1,"digest":"` + digest + `","expires":"2999-01-01T00:00:00Z"}`,
		"no expiry":       `{"version":2,"digest":"` + digest + `"}`,
	} {
		require.NoError(t, os.WriteFile(b.file(digest), []byte(content), 0o600))
		taken, err := b.Take(wipe())
		require.NoError(t, err)
		assert.Nil(t, taken, name)
	}
	_, err := Open(nil, "/space/.config", "/space")
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err), "not where tools write")
}

func TestARefusalTellsTheReasonOnce(t *testing.T) {
	b := open(t)
	p, err := b.File(b.ctx, wipe(), "It is dangerous.")
	require.NoError(t, err)
	require.NoError(t, b.Refuse(b.ctx, p, "not that one"))
	word, err := b.Take(wipe())
	require.NoError(t, err)
	assert.Equal(t, &Word{Refused: true, Reason: "not that one"}, word)
	word, err = b.Take(wipe())
	require.NoError(t, err)
	assert.Nil(t, word)
	b.approved(t)
	require.NoError(t, b.Refuse(b.ctx, p, ""))
	word, err = b.Take(wipe())
	require.NoError(t, err)
	assert.True(t, word.Refused, "the last word counts")
}

// What the schema hides is kept for the call, but neither shown nor remembered.
func TestSecretParameters(t *testing.T) {
	b := open(t)
	call := Call{Tool: "pay", Params: json.RawMessage(`{"pin":"S3CRET"}`), Shown: json.RawMessage(`{"pin":"[redacted]"}`)}
	p, err := b.File(b.ctx, call, "It costs.")
	require.NoError(t, err)
	assert.Equal(t, "pay pin='[redacted]'", p.Line())
	public, err := json.Marshal(p.Public())
	require.NoError(t, err)
	assert.NotContains(t, string(public), "S3CRET")
	assert.NotContains(t, string(public), "shown")
	kept, err := b.Get(b.ctx, p.ID)
	require.NoError(t, err)
	assert.JSONEq(t, `{"pin":"S3CRET"}`, string(kept.Params), "what it would do is worked out from it")
	_, err = p.Always()
	require.ErrorContains(t, err, "would keep its secret parameters")
	require.NoError(t, b.Approve(b.ctx, p))
	call.Params = json.RawMessage(`{"pin":"another"}`)
	word, err := b.Take(call)
	require.NoError(t, err)
	assert.Nil(t, word, "an approval is for the value, which nobody has seen")
}
