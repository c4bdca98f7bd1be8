package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/fleet"
)

// storeTokens are the parts of a subject before what the store is asked.
const storeTokens = 4

// expectedRevision is the only header of a worker that the store gets: others have it
// remove what is not the worker's.
const expectedRevision = "Nats-Expected-Last-Subject-Sequence"

// forward hands on what a worker asks of the bucket of calls, where it is about its
// own, and the answer.
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

// storeSubject is where the store takes what a worker asks, with the data that it
// gets; "" for what the worker may not ask.
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

// lastMessage asks the leader of a stream for the last message of a subject.
type lastMessage struct {
	Subject string `json:"last_by_subj"`
}

// Bounds of what the hub keeps of long results and packs, in bytes, where nothing
// else is said. A pack takes room beside the one before it until the session's record
// names it.
const (
	resultsOfSession = 256 << 20
	resultsOfTenant  = 4 << 30
	packsOfSession   = 4 << 30
	packsOfTenant    = 64 << 30
)

// mostPacks bounds the packs of a session, with uploads that are under way.
const mostPacks = 4

// objectsAtOnce bounds the parts of objects that are handled at one time.
const objectsAtOnce = 64

// object answers a worker about an object.
func (g *Gateway) object(msg *nats.Msg) {
	from := fleet.FromSubject(msg.Subject)
	if !from.MayHear(msg.Reply) {
		return
	}
	g.objects <- struct{}{}
	defer func() { <-g.objects }()
	ctx, cancel := context.WithTimeout(g.life, commitWithin)
	defer cancel()
	var ask fleet.ObjectAsk
	var reply fleet.ObjectReply
	var data []byte
	err := fleet.ReadObjectMsg(msg, &ask)
	var o *object
	if err == nil {
		o, err = g.objectOf(ctx, from, &ask)
	}
	if err == nil {
		switch ask.Action {
		case fleet.ObjectPart:
			err = o.part(ctx, ask.Part, msg.Data)
		case fleet.ObjectCommit:
			err = o.commit(ctx, ask.Sum, ask.Size)
		case fleet.ObjectDrop:
			err = o.abandon(ctx)
		case fleet.ObjectRead:
			data, err = o.read(ctx, ask.From, &reply)
		default:
			err = errors.New("the action is not known")
		}
	}
	if err != nil {
		reply.Error = tool.AsError(err)
		if reply.Error.Code == tool.Internal {
			reply.Error = tool.Errorf(tool.Unavailable, "the hub's store: %w", err)
		}
	}
	_ = g.nc.PublishMsg(fleet.ObjectMsg(msg.Reply, &reply, data))
}

// commitWithin bounds how long an upload may take to be read again.
const commitWithin = time.Minute

// object is one that a worker asks about.
type object struct {
	fleet.Bucket
	name string
	id   string // of the upload, and of its parts in the store
	pack string // the digest of a pack
	most int64  // bytes of the upload
	// owners are beginnings of ids with what all uploads there may have together.
	owners []owner
}

type owner struct {
	ids     string
	what    string
	most    int64
	uploads int // 0 for any number
}

var errForeign = tool.Errorf(tool.PermissionDenied, "the session is another worker's").Suggest("Open it first.")

// objectOf gives the object that a worker asks about, where that is of a session
// that it has.
func (g *Gateway) objectOf(ctx context.Context, from fleet.Worker, ask *fleet.ObjectAsk) (*object, error) {
	record, _, err := g.read(ctx, ask.Session)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, errForeign
	}
	if err != nil {
		return nil, err
	}
	if record.Worker != from || record.Epoch != ask.Epoch {
		return nil, errForeign
	}
	tenant := fleet.Digest(record.Tenant)
	session := tenant + "." + ask.Session
	o := &object{id: session + "." + fleet.Digest(string(from)+"\x00"+ask.Upload)}
	if ask.Pack != "" {
		if ask.Action == fleet.ObjectRead && ask.Pack != record.Pack && ask.Pack != record.Workspace.Pack {
			return nil, errForeign
		}
		o.Bucket, o.name, o.pack, o.most = g.store.Packs, packName(ask.Session, ask.Pack), ask.Pack, fleet.MostPack
		o.owners = []owner{{session + ".>", "the session", g.options.Config.sessionPacks(record.Tenant), mostPacks},
			{tenant + ".>", "the tenant " + record.Tenant, g.options.Config.packs(record.Tenant), 0}}
		if ask.Action == fleet.ObjectRead && ask.Pack != record.Pack {
			o.name, err = g.packOfOperator(ctx, ask.Pack)
		}
		return o, err
	}
	o.Bucket, o.name, o.most = g.store.Results, resultName(from, ask.Session, ask.Call), fleet.MostResult
	if ask.File != "" {
		o.name = fileName(ask.Session, ask.File)
	}
	o.owners = []owner{{session + ".>", "the session", g.options.SessionResults, 0},
		{tenant + ".>", "the tenant " + record.Tenant, g.options.Config.results(record.Tenant), 0}}
	return o, nil
}

// packName is that of a session's pack.
func packName(session, digest string) string { return session + "/" + digest }

// packOfOperator is the name of a pack that a fleet.hcl names: one that was put into the
// store under its digest, or that a session has made.
func (g *Gateway) packOfOperator(ctx context.Context, digest string) (string, error) {
	_, err := g.store.Packs.Objects.GetInfo(ctx, digest)
	if !errors.Is(err, jetstream.ErrObjectNotFound) {
		return digest, err
	}
	all, err := g.store.Packs.Objects.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return "", err
	}
	for _, object := range all {
		if strings.HasSuffix(object.Name, "/"+digest) {
			return object.Name, nil
		}
	}
	return digest, nil
}

// forgetPack removes a pack of a session that its record names no more. One that
// fleet.hcl names stays.
func (g *Gateway) forgetPack(ctx context.Context, session, digest string) error {
	if g.options.Config.hasPack(digest) {
		return nil
	}
	err := g.store.Packs.Objects.Delete(ctx, packName(session, digest))
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}

// resultName is that of a call's result.
func resultName(worker fleet.Worker, session, call string) string {
	return string(worker) + "." + session + "." + call
}

// fileName is that of what results of a session link to. No worker's name has a
// slash.
func fileName(session, file string) string { return "session/" + session + "/" + fleet.Digest(file) }

// part keeps a part of an upload. The same part is kept once.
func (o *object) part(ctx context.Context, n int, data []byte) error {
	if len(data) > fleet.PartSize {
		return tool.Errorf(tool.TooLarge, "the part has %d bytes", len(data)).Suggest("Send at most %d.", fleet.PartSize)
	}
	for _, owner := range append([]owner{{o.id, "the upload", o.most, 0}}, o.owners...) {
		has, err := o.Parts(ctx, owner.ids)
		if err != nil {
			return err
		}
		if _, begun := has[o.PartSubject(o.id)]; owner.uploads > 0 && !begun && len(has) >= owner.uploads {
			return tool.Errorf(tool.TooLarge, "%s has all the packs that the hub keeps of it, %d", owner.what, owner.uploads).
				Suggest("Have the newest one noted; the others are removed within %s then.", uploadWithin+sweepEvery)
		}
		var parts int64
		for _, count := range has {
			parts += int64(count)
		}
		if (parts+1)*fleet.PartSize > owner.most+fleet.PartSize-1 {
			return tool.Errorf(tool.TooLarge, "%s has all that the hub keeps of it, %d bytes", owner.what, owner.most).
				Suggest("Ask for less at one time, or the operator of the fleet for room; old results are dropped after %s.",
					fleet.CallsKept)
		}
	}
	msg := nats.NewMsg(o.PartSubject(o.id))
	msg.Data = data
	_, err := o.JS.PublishMsg(ctx, msg, jetstream.WithMsgID(fmt.Sprint(o.id, ".", n)))
	return full(err)
}

// full says what an error of the store means to who wants to keep something.
func full(err error) error {
	no := new(jetstream.APIError)
	if errors.As(err, &no) {
		return tool.Errorf(tool.TooLarge, "the hub's store takes no more: %w", err).
			Suggest("Ask the operator of the fleet for room on the hub's disk.")
	}
	return err
}

// commit makes an object of an upload, where its bytes are what they are said to be.
func (o *object) commit(ctx context.Context, sum string, size int64) error {
	before, err := o.Objects.GetInfo(ctx, o.name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	if err == nil && before.NUID == o.id {
		return nil // only the answer was lost
	}
	if err == nil && o.pack != "" {
		return o.drop(ctx, o.id) // the name says what it holds
	}
	got := sha256.New()
	n, parts, err := o.copy(ctx, got)
	if err != nil {
		return err
	}
	if is := hex.EncodeToString(got.Sum(nil)); is != sum || n != size || o.pack != "" && is != o.pack {
		_ = o.drop(ctx, o.id)
		return tool.Errorf(tool.Conflict, "the hub has %d bytes with the digest %s, not %d with %s", n, is, size, sum).
			Suggest("Send them again.")
	}
	info := jetstream.ObjectInfo{Bucket: o.Name, NUID: o.id, Size: uint64(n), Chunks: uint32(parts),
		Digest:     "SHA-256=" + base64.URLEncoding.EncodeToString(got.Sum(nil)),
		ObjectMeta: jetstream.ObjectMeta{Name: o.name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: fleet.PartSize}}}
	msg := nats.NewMsg(o.MetaSubject(base64.URLEncoding.EncodeToString([]byte(o.name))))
	msg.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	msg.Data = tool.MustMarshal(info)
	if _, err = o.JS.PublishMsg(ctx, msg); err != nil {
		return full(err)
	}
	if before != nil {
		_ = o.drop(ctx, before.NUID)
	}
	return nil
}

// copy gives the bytes of the upload.
func (o *object) copy(ctx context.Context, to io.Writer) (size int64, parts int, err error) {
	for from := uint64(1); ; parts++ {
		msg, err := o.Stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(o.PartSubject(o.id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return size, parts, nil
		}
		if err != nil {
			return size, parts, err
		}
		n, err := to.Write(msg.Data)
		if size += int64(n); err != nil {
			return size, parts, err
		}
		from = msg.Sequence + 1
	}
}

// drop removes the parts of an upload.
func (o *object) drop(ctx context.Context, id string) error {
	return o.Stream.Purge(ctx, jetstream.WithPurgeSubject(o.PartSubject(id)))
}

// abandon removes the parts of an upload that is no object.
func (o *object) abandon(ctx context.Context) error {
	info, err := o.Objects.GetInfo(ctx, o.name)
	if err == nil && info.NUID == o.id {
		return nil
	}
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return o.drop(ctx, o.id)
}

// read gives the part of the object that begins in the store at from or after it.
func (o *object) read(ctx context.Context, from uint64, reply *fleet.ObjectReply) ([]byte, error) {
	info, err := o.Objects.GetInfo(ctx, o.name)
	if errors.Is(err, jetstream.ErrObjectNotFound) && o.pack != "" { // of a hub before packs were the session's own
		info, err = o.Objects.GetInfo(ctx, o.pack)
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, tool.Errorf(tool.NotFound, "the hub's store has no %s", o.name).Suggest("It may have expired.")
	}
	if err != nil {
		return nil, err
	}
	reply.Size = int64(info.Size)
	if sum, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(info.Digest, "SHA-256=")); err == nil {
		reply.Sum = hex.EncodeToString(sum)
	}
	msg, err := o.Stream.GetMsg(ctx, max(1, from), jetstream.WithGetMsgSubject(o.PartSubject(info.NUID)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		reply.End = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reply.Next = msg.Sequence + 1
	return msg.Data, nil
}

// longResult is the result of a call that is no part of its entry.
func (g *Gateway) longResult(ctx context.Context, key string, entry *fleet.Call) ([]byte, error) {
	if entry.Size > fleet.MostResult {
		return nil, fmt.Errorf("the result of the call has %d bytes", entry.Size)
	}
	o := &object{Bucket: g.store.Results, name: key}
	var all []byte
	for reply := new(fleet.ObjectReply); ; {
		data, err := o.read(ctx, reply.Next, reply)
		if err != nil {
			return nil, err
		}
		if reply.End {
			break
		}
		if all = append(all, data...); int64(len(all)) > entry.Size {
			break
		}
	}
	return all, fleet.CheckResult(entry, all)
}

// sweepEvery is how often what nobody completes is removed, uploadWithin after how
// long.
const (
	sweepEvery   = 30 * time.Minute
	uploadWithin = time.Hour
)

func (g *Gateway) sweeps() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if err := g.Sweep(g.life, uploadWithin); err != nil && g.life.Err() == nil {
			g.logger.Warn("the hub's store was not swept", "error", err)
		}
		select {
		case <-g.life.Done():
			return
		case <-ticker.C:
		}
	}
}

// Sweep removes what is older than a time and in no use: uploads that nobody has
// completed, since their worker was lost, and packs that no record names.
func (g *Gateway) Sweep(ctx context.Context, within time.Duration) error {
	for _, bucket := range []fleet.Bucket{g.store.Packs, g.store.Results} {
		parts, err := bucket.Parts(ctx, ">")
		if err != nil {
			return err
		}
		objects, err := bucket.Objects.List(ctx)
		if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
			return err
		}
		for _, object := range objects {
			delete(parts, bucket.PartSubject(object.NUID))
			session, digest, ok := strings.Cut(object.Name, "/")
			if ok && bucket.Name == fleet.PacksBucket && time.Since(object.ModTime) >= within {
				err = g.sweepPack(ctx, session, digest)
			}
			if err != nil {
				return err
			}
		}
		for subject := range parts {
			last, err := bucket.Stream.GetLastMsgForSubject(ctx, subject)
			if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && time.Since(last.Time) < within {
				continue
			}
			if err == nil {
				err = bucket.Stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *Gateway) sweepPack(ctx context.Context, session, digest string) error {
	record, _, err := g.read(ctx, session)
	if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && record.Pack != digest {
		return g.forgetPack(ctx, session, digest)
	}
	return err
}

// forgetResults removes the long results of a session that its client has ended.
func (g *Gateway) forgetResults(ctx context.Context, tenant, session string) {
	results := g.store.Results
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fleet.StoreStep)
	defer cancel()
	_ = results.Stream.Purge(ctx, jetstream.WithPurgeSubject(
		results.PartSubject(fleet.Digest(tenant)+"."+session+".>")))
}

// results bounds what the hub keeps of a tenant's long results, in bytes, packs what it
// keeps of packs, and sessionPacks that of each session's.
func (c *Config) results(tenant string) int64 {
	return c.bound(tenant, resultsOfTenant, func(t *Tenant) int { return t.Results })
}

func (c *Config) packs(tenant string) int64 {
	return c.bound(tenant, packsOfTenant, func(t *Tenant) int { return t.Packs })
}

func (c *Config) sessionPacks(tenant string) int64 {
	return c.bound(tenant, packsOfSession, func(t *Tenant) int { return t.SessionPacks })
}

func (c *Config) bound(tenant string, otherwise int64, of func(*Tenant) int) int64 {
	for _, t := range c.Tenants {
		if t.Name == tenant && of(t) > 0 {
			return int64(of(t)) << 20
		}
	}
	return otherwise
}

// hasPack reports whether a workspace begins at that pack.
func (c *Config) hasPack(digest string) bool {
	return slices.ContainsFunc(c.Workspaces, func(w WorkspaceBlock) bool { return w.Pack == digest })
}
