package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
)

// carrier is the worker's side of transfers: it gives the parts of sends, and receives others.
func (b *bench) carrier(sends []byte) (came *bytes.Buffer, stop func()) {
	b.t.Helper()
	came = new(bytes.Buffer)
	sub, err := b.worker.Subscribe(worker.WorkSubject(), func(msg *nats.Msg) {
		if msg.Header.Get(fleet.KindHeader) != fleet.KindPart {
			return
		}
		at, _ := strconv.Atoi(msg.Header.Get("N"))
		answer := nats.NewMsg(msg.Header.Get("Back"))
		answer.Header.Set("N", msg.Header.Get("N"))
		if len(msg.Data) > 0 {
			came.Write(msg.Data)
		} else {
			answer.Data = sends[min(at, len(sends)):min(at+fleet.PartSize, len(sends))]
		}
		_ = b.worker.PublishMsg(answer)
	})
	require.NoError(b.t, err)
	require.NoError(b.t, b.worker.Flush())
	return came, func() { require.NoError(b.t, sub.Unsubscribe()) }
}

func (b *bench) transfer(ask fleet.Transfer) *tool.Error {
	b.t.Helper()
	answer, err := b.worker.Request(worker.PackSubject(), tool.MustMarshal(ask), waits)
	require.NoError(b.t, err)
	var end fleet.Transferred
	require.NoError(b.t, json.Unmarshal(answer.Data, &end))
	return end.Error
}

func packDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A pack is stored if it matches its name and the tenant has room, and given while the
// session's record names it. Others are swept.
func TestPacks(t *testing.T) {
	b := newBench(t)
	b.options.Config.Tenants[0].Packs = 1
	_, err := b.write(t.Context(), "s", &fleet.Record{Tenant: "default", Worker: worker, Epoch: 2}, 0)
	require.NoError(t, err)
	pack := bytes.Repeat([]byte("pack"), 150_000)
	digest := packDigest(pack)
	keep := fleet.Transfer{ID: "x", Session: "s", Epoch: 2, Pack: digest, Size: int64(len(pack))}
	_, stop := b.carrier(pack)
	for name, c := range map[string]struct {
		change func(*fleet.Transfer)
		code   tool.Code
	}{
		"an earlier epoch":    {func(ask *fleet.Transfer) { ask.Epoch = 1 }, tool.PermissionDenied},
		"another session":     {func(ask *fleet.Transfer) { ask.Session = "other" }, tool.PermissionDenied},
		"not named":           {func(ask *fleet.Transfer) { ask.Size = 0 }, tool.PermissionDenied},
		"not its name's":      {func(ask *fleet.Transfer) { ask.Pack = packDigest([]byte("other")) }, tool.Conflict},
		"longer than said":    {func(ask *fleet.Transfer) { ask.Size-- }, tool.Conflict},
		"shorter than said":   {func(ask *fleet.Transfer) { ask.Size++ }, tool.Conflict},
		"more than there may": {func(ask *fleet.Transfer) { ask.Size = 1<<20 + 1 }, tool.TooLarge},
	} {
		ask := keep
		c.change(&ask)
		if refused := b.transfer(ask); assert.NotNil(t, refused, name) {
			assert.Equal(t, c.code, refused.Code, "%s: %s", name, refused.Message)
		}
	}
	packs, err := b.store.Packs(t.Context(), "default")
	require.NoError(t, err)
	has, err := packs.Status(t.Context())
	require.NoError(t, err)
	assert.Zero(t, has.Size(), "nothing is left of what was refused")

	require.Nil(t, b.transfer(keep))
	require.Nil(t, b.transfer(keep), "it is there")
	require.NoError(t, b.noted(t.Context(), worker, fleet.Ask{Session: "s", Epoch: 2, Pack: digest}))
	give := keep
	give.Size = 0
	stop()
	came, stop := b.carrier(nil)
	require.Nil(t, b.transfer(give))
	stop()
	assert.True(t, bytes.Equal(pack, came.Bytes()))

	other := []byte("newer")
	_, stop = b.carrier(other)
	defer stop()
	newer := fleet.Transfer{ID: "y", Session: "s", Epoch: 2, Pack: packDigest(other), Size: int64(len(other))}
	require.Nil(t, b.transfer(newer))
	require.NoError(t, b.Sweep(t.Context(), waits))
	assert.Equal(t, 2, b.packs(t.Context()), "it may still be named")
	require.NoError(t, b.Sweep(t.Context(), 0))
	assert.Equal(t, 1, b.packs(t.Context()))
	require.Nil(t, b.transfer(newer))
	require.NoError(t, b.noted(t.Context(), worker, fleet.Ask{Session: "s", Epoch: 2, Pack: newer.Pack}))
	assert.Equal(t, 1, b.packs(t.Context()), "the one before is removed")
	require.ErrorIs(t, b.noted(t.Context(), worker, fleet.Ask{Session: "s", Epoch: 1, Pack: digest}), errForeign)
}

func (b *bench) packs(ctx context.Context) int {
	b.t.Helper()
	packs, err := b.store.Packs(ctx, "default")
	require.NoError(b.t, err)
	all, err := packs.List(ctx)
	require.NoError(b.t, err)
	return len(all)
}

// lossy is a store whose first answer is lost.
type lossy struct{ lost bool }

func (l *lossy) answer(ctx context.Context) error {
	if l.lost {
		return nil
	}
	l.lost = true
	<-ctx.Done()
	return ctx.Err()
}

type lossyPacks struct {
	jetstream.ObjectStore
	lossy
}

func (l *lossyPacks) Get(ctx context.Context, _ string, _ ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	return nil, l.answer(ctx)
}

func (l *lossyPacks) GetInfo(ctx context.Context, _ string, _ ...jetstream.GetObjectInfoOpt) (*jetstream.ObjectInfo, error) {
	return new(jetstream.ObjectInfo), l.answer(ctx)
}

type lossyEntries struct {
	jetstream.KeyValue
	lossy
}

func (l *lossyEntries) Delete(ctx context.Context, _ string, _ ...jetstream.KVDeleteOpt) error {
	return l.answer(ctx)
}

func (l *lossyEntries) WatchAll(context.Context, ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	return silent{}, nil
}

// silent has no entries, and does not say so.
type silent struct{ jetstream.KeyWatcher }

func (silent) Updates() <-chan jetstream.KeyValueEntry { return nil }
func (silent) Stop() error                             { return nil }

// A lost answer of the store costs the time of a step, not that of a transfer or a gateway's life.
func TestLostAnswersOfTheStore(t *testing.T) {
	for name, do := range map[string]func(context.Context) error{
		"open a pack": func(ctx context.Context) error { _, err := openPack(ctx, new(lossyPacks), "x"); return err },
		"keep a pack": func(ctx context.Context) error {
			return new(packTransfer).storePack(ctx, new(lossyPacks), new(fleet.Transfer), "default")
		},
		"forget a session": func(ctx context.Context) error {
			return (&Gateway{store: &fleet.Store{Sessions: new(lossyEntries)}}).forgetSession(ctx, "x")
		},
		"list": func(ctx context.Context) error {
			assert.ErrorIs(t, each(ctx, new(lossyEntries), nil), nats.ErrTimeout)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*fleet.StoreStep)
			defer cancel()
			require.NoError(t, do(ctx))
		})
	}
}
