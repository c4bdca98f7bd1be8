package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
)

// storeTokens is the number of a subject's tokens before the store's part.
const storeTokens = 4

// expectedRevision is the only header that the store gets from a worker: others could remove
// other workers' data.
const expectedRevision = "Nats-Expected-Last-Subject-Sequence"

// forward passes on a worker's request about its own calls, and the answer.
func (g *Gateway) forward(msg *nats.Msg) {
	parts := strings.SplitN(msg.Subject, ".", storeTokens+1)
	if len(parts) <= storeTokens {
		return
	}
	from, ask := fleet.NewWorker(parts[2], parts[3]), parts[storeTokens]
	to, data := storeSubject(from, ask, msg.Data)
	if to == "" || !from.MayHear(msg.Reply) {
		return
	}
	ctx, cancel := context.WithTimeout(g.life, fleet.StoreStep)
	defer cancel()
	if to == ask {
		foreign, err := g.isForeign(ctx, from, ask, data)
		if foreign {
			_ = g.nc.Publish(msg.Reply, fleet.Foreign())
		}
		if foreign || err != nil {
			return // if the store cannot tell, the worker gets no answer, and runs nothing
		}
	}
	out := nats.NewMsg(to)
	out.Data = data
	if to == ask {
		if revision := msg.Header.Get(expectedRevision); revision != "" {
			out.Header.Set(expectedRevision, revision)
		}
	}
	answer, err := g.nc.RequestMsgWithContext(ctx, out)
	if err != nil {
		return
	}
	answer.Subject, answer.Reply = msg.Reply, ""
	_ = g.nc.PublishMsg(answer)
}

// isForeign reports whether a worker starts a call of another's session. Its other writes end
// its own calls.
func (g *Gateway) isForeign(ctx context.Context, from fleet.Worker, entry string, data []byte) (bool, error) {
	session, _, _ := strings.Cut(strings.TrimPrefix(entry, "$KV."+fleet.CallsBucket+"."+string(from)+"."), ".")
	var call fleet.Call
	if json.Unmarshal(data, &call) != nil || call.State != fleet.CallRunning && !call.Task {
		return false, nil
	}
	record, _, err := g.read(ctx, session)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return true, nil
	}
	return err == nil && (record.Worker != from || record.Epoch != call.Epoch), err
}

// storeSubject returns the store's subject and data for a worker's request; "" if not allowed.
func storeSubject(from fleet.Worker, ask string, data []byte) (subject string, out []byte) {
	bucket, own := "KV_"+fleet.CallsBucket, "$KV."+fleet.CallsBucket+"."+from.Key()+"."
	switch {
	case strings.HasPrefix(ask, own):
		return ask, data
	case ask == "STREAM.INFO."+bucket, strings.HasPrefix(ask, "DIRECT.GET."+bucket+"."+own):
		return "$JS.API." + ask, nil
	case ask == "STREAM.MSG.GET."+bucket:
		var get lastMessage
		if json.Unmarshal(data, &get) == nil && strings.HasPrefix(get.Subject, own) {
			return "$JS.API." + ask, tool.MustMarshal(get)
		}
	}
	return "", nil
}

// lastMessage asks the leader of a stream for a subject's last message.
type lastMessage struct {
	Subject string `json:"last_by_subj"`
}

func (g *Gateway) pack(msg *nats.Msg) {
	from := fleet.FromSubject(msg.Subject)
	if !from.MayHear(msg.Reply) {
		return
	}
	ctx, cancel := context.WithTimeout(g.life, transferWithin)
	defer cancel()
	var ask fleet.Transfer
	err := json.Unmarshal(msg.Data, &ask)
	if err == nil {
		err = g.transfer(ctx, from, &ask)
	}
	var end fleet.Transferred
	if err != nil {
		if end.Error = tool.AsError(err); end.Error.Code == tool.Internal {
			end.Error = tool.Errorf(tool.Unavailable, "the hub's store: %w", err)
		}
	}
	_ = g.nc.Publish(msg.Reply, tool.MustMarshal(end))
}

// transferWithin limits a transfer, partWithin an attempt at one part, and partTries the attempts.
const (
	transferWithin = 10 * time.Minute
	partWithin     = 3 * time.Second
	partTries      = 3
)

// packsOfTenant is the default limit of a tenant's packs in the hub, in bytes. A new pack takes
// room beside the old until the session's record names it.
const packsOfTenant = 64 << 30

var errForeign = tool.Errorf(tool.PermissionDenied, "the session is another worker's").Suggest("Open it first.")

// transfer stores a pack of a worker's session, or sends it the one in the session's record.
func (g *Gateway) transfer(ctx context.Context, from fleet.Worker, ask *fleet.Transfer) error {
	record, _, err := g.read(ctx, ask.Session)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrInvalidKey):
		return errForeign
	case err != nil:
		return err
	case record.Worker != from, record.Epoch != ask.Epoch, ask.Size == 0 && ask.Pack != record.Pack,
		strings.ContainsAny(ask.ID, ".*> "), ask.ID == "":
		return errForeign
	}
	packs, err := g.store.Packs(ctx, record.Tenant)
	if err != nil {
		return err
	}
	p := &packTransfer{gateway: g, worker: from, id: ask.ID, left: ask.Size, digest: ask.Pack, sum: sha256.New(),
		back: from.BackSubject(g.name, ask.ID)}
	if p.answers, err = g.nc.SubscribeSync(p.back); err != nil {
		return err
	}
	defer func() { _ = p.answers.Unsubscribe() }()
	if ask.Size == 0 {
		return p.give(ctx, packs, packName(ask.Session, ask.Pack))
	}
	return p.storePack(ctx, packs, ask, record.Tenant)
}

func packName(session, digest string) string { return session + "/" + digest }

// packTransfer transfers a pack between the hub's store and a worker, part by part.
type packTransfer struct {
	gateway  *Gateway
	worker   fleet.Worker
	id, back string
	answers  *nats.Subscription
	at, left int64
	digest   string
	sum      hash.Hash
	ctx      context.Context // of the transfer, for Read
}

func (p *packTransfer) give(ctx context.Context, packs jetstream.ObjectStore, name string) error {
	pack, err := openPack(ctx, packs, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return tool.Errorf(tool.NotFound, "the hub's store has no pack %s", name).Suggest("It may have expired.")
	}
	if err != nil {
		return err
	}
	defer pack.Close()
	part := make([]byte, fleet.PartSize)
	for {
		n, err := io.ReadFull(pack, part)
		if n == 0 {
			return ignoreEOF(err)
		}
		if _, err := p.exchange(ctx, part[:n]); err != nil {
			return err
		}
		if p.at += int64(n); err != nil {
			return ignoreEOF(err)
		}
	}
}

// openPack opens a pack, readable while the context lives. Get's context also limits reading, so
// it has no deadline, and ends if the opening is not answered.
func openPack(ctx context.Context, packs jetstream.ObjectStore, name string) (pack jetstream.ObjectResult, err error) {
	return pack, fleet.Retry(ctx, func(step context.Context) error {
		reading, end := context.WithCancel(ctx)
		came := context.AfterFunc(step, end)
		pack, err = packs.Get(reading, name)
		if !came() && ctx.Err() == nil {
			return context.DeadlineExceeded
		}
		return err
	})
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// storePack stores a worker's pack, if there is room and it matches its name.
func (p *packTransfer) storePack(ctx context.Context, packs jetstream.ObjectStore, ask *fleet.Transfer,
	tenant string) error {
	name := packName(ask.Session, ask.Pack)
	var has jetstream.ObjectStoreStatus
	err := fleet.Retry(ctx, func(ctx context.Context) (err error) {
		if _, err = packs.GetInfo(ctx, name); errors.Is(err, jetstream.ErrObjectNotFound) {
			has, err = packs.Status(ctx)
		}
		return err
	})
	if err != nil || has == nil { // already stored
		return err
	}
	most := p.gateway.options.Config.packs(tenant)
	if ask.Size < 0 || ask.Size > fleet.MostPack || int64(has.Size())+ask.Size > most {
		return tool.Errorf(tool.TooLarge, "the hub keeps up to %d bytes of packs of the tenant %s, and %d of a pack",
			most, tenant, fleet.MostPack).Suggest("Delete files that are not needed, or ask the operator of the fleet for room.")
	}
	p.ctx = ctx
	_, err = packs.Put(ctx, jetstream.ObjectMeta{Name: name,
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: fleet.PartSize}}, p)
	if no := new(jetstream.APIError); errors.As(err, &no) {
		return tool.Errorf(tool.TooLarge, "the hub's store takes no more: %w", err).
			Suggest("Ask the operator of the fleet for room on the hub's disk.")
	}
	return err
}

// Read reads a part from the worker into to, which must have room for it all. At the end it
// fails if the bytes do not match the pack's name.
func (p *packTransfer) Read(to []byte) (int, error) {
	if p.left == 0 {
		if hex.EncodeToString(p.sum.Sum(nil)) != p.digest {
			return 0, tool.Errorf(tool.Conflict, "the bytes of the pack are not those of its name").Suggest("Send them again.")
		}
		return 0, io.EOF
	}
	data, err := p.exchange(p.ctx, nil)
	if err != nil {
		return 0, err
	}
	if len(data) == 0 || int64(len(data)) > p.left || len(data) > len(to) {
		return 0, tool.Errorf(tool.Conflict, "the pack has not the size that was named").Suggest("Send it again.")
	}
	p.at, p.left = p.at+int64(len(data)), p.left-int64(len(data))
	_, _ = p.sum.Write(data)
	return copy(to, data), nil
}

// exchange sends the worker the part at the offset, or asks for it, and waits for the answer.
func (p *packTransfer) exchange(ctx context.Context, part []byte) (data []byte, err error) {
	msg := nats.NewMsg(p.worker.WorkSubject())
	for name, value := range map[string]string{fleet.KindHeader: fleet.KindPart, "Id": p.id, "Back": p.back,
		"N": strconv.FormatInt(p.at, 10)} {
		msg.Header.Set(name, value)
	}
	msg.Data = part
	for range partTries {
		if err = p.gateway.nc.PublishMsg(msg); err != nil {
			return nil, err
		}
		within, cancel := context.WithTimeout(ctx, partWithin)
		for err == nil {
			var answer *nats.Msg
			if answer, err = p.answers.NextMsgWithContext(within); err == nil && answer.Header.Get("N") == msg.Header.Get("N") {
				cancel()
				return answer.Data, nil
			}
		}
		cancel()
		if ctx.Err() != nil {
			break
		}
	}
	return nil, tool.Errorf(tool.Unavailable, "the worker does not answer about the part at %d: %w", p.at, err).
		Suggest("Send the pack again.")
}

func (g *Gateway) forgetPack(ctx context.Context, tenant, session, digest string) error {
	packs, err := g.store.Packs(ctx, tenant)
	if err != nil {
		return err
	}
	err = fleet.Retry(ctx, func(ctx context.Context) error { return packs.Delete(ctx, packName(session, digest)) })
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}

func (g *Gateway) forgetSession(ctx context.Context, key string) error {
	return fleet.Retry(ctx, func(ctx context.Context) error { return g.store.Sessions.Delete(ctx, key) })
}

// sweepEvery is the interval of removing packs that no record names, unnamedFor their least age.
const (
	sweepEvery = 30 * time.Minute
	unnamedFor = time.Hour
)

func (g *Gateway) sweeps() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if err := g.Sweep(g.life, unnamedFor); err != nil && g.life.Err() == nil {
			g.logger.Warn("the hub's store was not swept", "error", err)
		}
		select {
		case <-g.life.Done():
			return
		case <-ticker.C:
		}
	}
}

// Sweep removes old packs that no record names: of a worker that lies, or was lost before it named one.
func (g *Gateway) Sweep(ctx context.Context, within time.Duration) error {
	for _, tenant := range g.options.Config.Tenants {
		packs, err := g.store.Packs(ctx, tenant.Name)
		if err != nil {
			return err
		}
		var all []*jetstream.ObjectInfo
		err = fleet.Retry(ctx, func(ctx context.Context) (err error) { all, err = packs.List(ctx); return err })
		if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
			return err
		}
		for _, pack := range all {
			session, digest, _ := strings.Cut(pack.Name, "/")
			if time.Since(pack.ModTime) < within {
				continue
			}
			record, _, err := g.read(ctx, session)
			if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && record.Pack != digest {
				err = g.forgetPack(ctx, tenant.Name, session, digest)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// packs limits a tenant's packs in the hub, in bytes.
func (c *Config) packs(tenant string) int64 {
	for _, t := range c.Tenants {
		if t.Name == tenant && t.Packs > 0 {
			return int64(t.Packs) << 20
		}
	}
	return packsOfTenant
}
