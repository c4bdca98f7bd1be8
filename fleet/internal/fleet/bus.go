package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Link says how a program reaches the hub.
type Link struct {
	// URL is the hub's, "nats://127.0.0.1:4222"; several are separated by commas.
	URL string
	// KeyFile has the seed of the program's key.
	KeyFile string
	// Name identifies the program, without secrets.
	Name string
	// Inbox is the prefix for answers to the program's requests, as the key allows.
	Inbox string
	// CAFile, CertFile and CertKey are for hubs with TLS.
	CAFile, CertFile, CertKey string
	// Server is a hub of the same process; Dial replaces the connection by URL. Both may be nil.
	Server nats.InProcessConnProvider
	Dial   func() (net.Conn, error)
	// Changed is called when the connection breaks and when it is restored.
	Changed func(connected bool)
}

type dialer func() (net.Conn, error)

func (d dialer) Dial(_, _ string) (net.Conn, error) { return d() }

// Connect connects to the hub. It retries for a while, since a fleet's programs may start together,
// and whenever the connection is lost.
func (l Link) Connect(ctx context.Context) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(l.Name), nats.CustomInboxPrefix(l.Inbox), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(200*time.Millisecond, time.Second),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(5 * time.Second),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.changed(false) }),
		nats.ReconnectHandler(func(*nats.Conn) { l.changed(true) }),
	}
	if l.KeyFile != "" {
		key, err := nats.NkeyOptionFromSeed(l.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("the key %s cannot be used: %w. Copy it from keys/ in the hub's data directory",
				l.KeyFile, err)
		}
		options = append(options, key)
	}
	if l.CAFile != "" {
		options = append(options, nats.RootCAs(l.CAFile))
	}
	if l.CertFile != "" {
		options = append(options, nats.ClientCert(l.CertFile, l.CertKey))
	}
	if l.Server != nil {
		options = append(options, nats.InProcessServer(l.Server))
	}
	if l.Dial != nil {
		options = append(options, nats.SetCustomDialer(dialer(l.Dial)))
	}
	var err error
	for {
		var nc *nats.Conn
		if nc, err = nats.Connect(l.URL, options...); err == nil {
			return nc, nil
		}
		if errors.Is(err, nats.ErrAuthorization) {
			return nil, fmt.Errorf("the hub at %s does not know the key %s: use one from keys/ in its data directory",
				l.URL, l.KeyFile)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the hub at %s cannot be reached: %w. Start it with toolhost hub, or correct --hub",
				l.URL, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (l Link) changed(connected bool) {
	if l.Changed != nil {
		l.Changed(connected)
	}
}

// Store has the hub's buckets. Workers cannot reach them directly.
type Store struct {
	Sessions, Calls jetstream.KeyValue

	js       jetstream.JetStream
	replicas int
	mu       sync.Mutex
	packs    map[string]jetstream.ObjectStore
}

// Packs returns the bucket with a tenant's packs, which is created if missing.
func (s *Store) Packs(ctx context.Context, tenant string) (bucket jetstream.ObjectStore, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bucket = s.packs[tenant]; bucket != nil {
		return bucket, nil
	}
	name := "packs-" + Digest(tenant)
	err = Retry(ctx, func(ctx context.Context) (err error) {
		if s.replicas == 1 {
			bucket, err = s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, TTL: packsKept})
		} else if err = makeLed(ctx, s.js, jetstream.StreamConfig{Name: "OBJ_" + name, MaxAge: packsKept, Replicas: s.replicas,
			Subjects: []string{"$O." + name + ".C.>", "$O." + name + ".M.>"}}); err == nil {
			bucket, err = s.js.ObjectStore(ctx, name)
		}
		return err
	})
	if err == nil {
		s.packs[tenant] = bucket
	}
	return bucket, err
}

func makeValues(ctx context.Context, js jetstream.JetStream, name string, kept time.Duration,
	replicas int) (jetstream.KeyValue, error) {
	if replicas == 1 {
		return js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, TTL: kept, MaxValueSize: maxValue})
	}
	if err := makeLed(ctx, js, jetstream.StreamConfig{Name: "KV_" + name, MaxAge: kept, Replicas: replicas,
		Subjects: []string{"$KV." + name + ".>"}, MaxMsgsPerSubject: 1, MaxMsgSize: maxValue, DenyDelete: true,
		Duplicates: duplicatesKnown}); err != nil {
		return nil, err
	}
	return js.KeyValue(ctx, name)
}

// duplicatesKnown is how long the hub recognizes a repeated message by its ID.
const duplicatesKnown = 2 * time.Minute

// makeLed makes the stream of a bucket with several replicas. Unlike the client library's, only its
// leader answers reads: others may not know the last write, and miss a new session.
func makeLed(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) error {
	config.MaxBytes, config.MaxMsgs, config.MaxConsumers = -1, -1, -1
	config.Discard, config.AllowRollup = jetstream.DiscardNew, true
	_, err := js.CreateOrUpdateStream(ctx, config)
	return err
}

// StoreStep limits a step with the store: a lost answer does not come later.
const StoreStep = 5 * time.Second

// retryWithin limits all attempts at a step with the store.
const retryWithin = 30 * time.Second

// Retry repeats a step with the store if its answer is lost. The step must be idempotent.
func Retry(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, retryWithin)
	defer cancel()
	for {
		limited, cancel := context.WithTimeout(ctx, StoreStep)
		err := step(limited)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) &&
			!errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, jetstream.ErrNoStreamResponse) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond): // a hub without a leader answers at once
		}
	}
}

// IsConflict reports whether another write of an entry was faster.
func IsConflict(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// foreign is the code of a refusal, beyond those of NATS.
const foreign = 40300

// Foreign returns a gateway's answer to a worker that claims a call of another's session,
// like the store's refusal.
func Foreign() []byte {
	return []byte(fmt.Sprintf(`{"error":{"code":403,"err_code":%d,"description":"the session is another worker's"}}`, foreign))
}

// IsForeign reports whether a claim was refused because the session is another worker's.
func IsForeign(err error) bool {
	refused := new(jetstream.APIError)
	return errors.As(err, &refused) && refused.ErrorCode == foreign
}

// CallsKept is how long the hub keeps a call, with its result.
const CallsKept = 24 * time.Hour

// How long the hub keeps untouched entries, and their size.
const (
	sessionsKept = 7 * 24 * time.Hour
	packsKept    = 7 * 24 * time.Hour
	maxValue     = 4 << 20
)

// MakeStore creates missing buckets, each with that many replicas.
func MakeStore(ctx context.Context, nc *nats.Conn, replicas int) (*Store, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	s := &Store{js: js, replicas: replicas, packs: make(map[string]jetstream.ObjectStore)}
	for {
		if s.Sessions, err = makeValues(ctx, js, SessionsBucket, sessionsKept, replicas); err == nil {
			s.Calls, err = makeValues(ctx, js, CallsBucket, CallsKept, replicas)
		}
		if err == nil {
			return s, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the hub's store cannot be opened: %w. "+
				"Check that JetStream is on and that the cluster has a leader", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// OpenStore opens the buckets for observers of a fleet, once a gateway has created them.
func OpenStore(ctx context.Context, nc *nats.Conn) (*Store, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	s := new(Store)
	if s.Calls, err = openCalls(ctx, js); err == nil {
		s.Sessions, err = js.KeyValue(ctx, SessionsBucket)
	}
	return s, err
}

// WorkerCalls opens the bucket of calls for a worker, through a gateway, once it exists.
func WorkerCalls(ctx context.Context, nc *nats.Conn, w Worker, gateway string) (jetstream.KeyValue, error) {
	js, err := jetstream.NewWithAPIPrefix(nc, w.StoreSubject(gateway))
	if err != nil {
		return nil, err
	}
	return openCalls(ctx, js)
}

func openCalls(ctx context.Context, js jetstream.JetStream) (calls jetstream.KeyValue, err error) {
	for {
		if calls, err = js.KeyValue(ctx, CallsBucket); err == nil {
			return calls, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the hub's store cannot be opened: %w. A gateway makes it: start one", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
