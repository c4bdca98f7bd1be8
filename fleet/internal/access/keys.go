package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/modelcontextprotocol/go-sdk/auth"
)

const (
	// keysFresh is the age at which keys are requested again.
	keysFresh = 5 * time.Minute
	// keysKept is how long keys are used if the issuer does not answer.
	keysKept = time.Hour
	// keysPause is the least time between two requests: tokens may name keys that do not exist.
	keysPause  = 10 * time.Second
	keysWithin = 10 * time.Second
	maxKeys    = 1 << 20 // bytes
	// mostTried limits the keys tried with a token that names none.
	mostTried = 8
)

// keySet has an issuer's keys, requested when needed.
type keySet struct {
	issuer, url string
	client      *http.Client
	pause       time.Duration

	mu     sync.Mutex
	keys   []jose.JSONWebKey
	since  time.Time // when received
	tried  time.Time
	failed error         // of the last request
	asking chan struct{} // nil unless a request is in progress; closed at its end
}

func newKeySet(issuer, url string) *keySet {
	client := &http.Client{Timeout: keysWithin, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("it redirects more than 3 times")
		}
		_, err := secureURL(r.URL.String())
		return err
	}}
	return &keySet{issuer: issuer, url: url, client: client, pause: keysPause}
}

// find returns the keys that may have made a signature.
func (k *keySet) find(ctx context.Context, header jose.Header) ([]jose.JSONWebKey, error) {
	found, asking := k.lookupKeys(header, true)
	if len(found) == 0 && asking != nil {
		select {
		case <-asking:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrKeys, ctx.Err())
		}
		found, _ = k.lookupKeys(header, false)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(found) > 0:
		return found, nil
	case k.failed != nil:
		return nil, fmt.Errorf("%w: %w", ErrKeys, k.failed)
	}
	return nil, fmt.Errorf("%w: the issuer has no key for it", ErrToken)
}

// lookupKeys returns the known keys, and requests them if one is missing or they are old. The channel is
// closed after that.
func (k *keySet) lookupKeys(header jose.Header, ask bool) (found []jose.JSONWebKey, asking <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	age := time.Since(k.since)
	for i := range k.keys {
		if age < keysKept && len(found) < mostTried && fits(&k.keys[i], header) {
			found = append(found, k.keys[i])
		}
	}
	if ask && k.asking == nil && (len(found) == 0 || age > keysFresh) && time.Since(k.tried) >= k.pause {
		k.asking = make(chan struct{})
		go k.ask()
	}
	return found, k.asking
}

func (k *keySet) ask() {
	ctx, cancel := context.WithTimeout(context.Background(), keysWithin)
	defer cancel()
	keys, err := k.fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed = err; err == nil {
		k.keys, k.since = keys, time.Now()
	}
	k.tried = time.Now()
	close(k.asking)
	k.asking = nil
}

func (k *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	at := k.url
	if at == "" {
		metadata, err := auth.GetAuthServerMetadata(ctx, k.issuer, k.client)
		if err == nil && (metadata == nil || metadata.JWKSURI == "") {
			err = errors.New("it names no keys; name them with jwks in the oauth block")
		}
		if err != nil {
			return nil, fmt.Errorf("the metadata of %s: %w", k.issuer, err)
		}
		at = metadata.JWKSURI
	}
	if _, err := secureURL(at); err != nil {
		return nil, fmt.Errorf("the keys of %s: %w", k.issuer, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the keys of %s: %s", k.issuer, answer.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxKeys)).Decode(&set); err != nil {
		return nil, fmt.Errorf("the keys of %s: %w", k.issuer, err)
	}
	var keys []jose.JSONWebKey
	for _, data := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(data) == nil { // skips unusable kinds
			keys = append(keys, key)
		}
	}
	return keys, nil
}
