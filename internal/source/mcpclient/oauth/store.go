package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Login is what an authorization server has given out for an MCP server.
type Login struct {
	// Server is the URL of the MCP server; no other is sent the token.
	Server string `json:"server"`
	// Resource is what the token was asked for, Issuer who gave it.
	Resource string `json:"resource"`
	Issuer   string `json:"issuer"`
	// TokenEndpoint renews, RevocationEndpoint ends it, where there is one.
	TokenEndpoint      string `json:"token_endpoint"`
	RevocationEndpoint string `json:"revocation_endpoint,omitempty"`
	// ClientID is who it was given to. ClientSecret is there only for a client
	// that registered itself; ClientAuth is how it shows the secret.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitempty"`
	ClientAuth   string `json:"client_auth,omitempty"`
	// Scopes are what the token is good for, as far as is known.
	Scopes       []string `json:"scopes,omitempty"`
	AccessToken  string   `json:"access_token"`
	RefreshToken string   `json:"refresh_token,omitempty"`
	// Expires is when AccessToken ends; zero is not known. At is when a person,
	// or the client's secret, last gave leave.
	Expires time.Time `json:"expires,omitzero"`
	At      time.Time `json:"at"`
}

// early is how long before its end a token counts as ended: a request is on
// its way for a while.
const early = 30 * time.Second

// fresh reports whether the access token can be used as it is.
func (l *Login) fresh() bool {
	return l.AccessToken != "" && (l.Expires.IsZero() || time.Until(l.Expires) > early)
}

// secrets are the values that nobody is to see.
func (l *Login) secrets() []string {
	return slices.DeleteFunc([]string{l.AccessToken, l.RefreshToken, l.ClientSecret},
		func(s string) bool { return s == "" })
}

// Store keeps logins: a file each, for its owner alone, in a directory of the
// user's. A store without a directory keeps them in memory.
type Store struct {
	dir string

	mu     sync.Mutex
	memory map[string]Login
	lock   chan struct{} // what the lock of a file is elsewhere
}

// InMemory makes a store that is forgotten with the process.
func InMemory() *Store {
	return &Store{memory: make(map[string]Login), lock: make(chan struct{}, 1)}
}

// Dir is where logins lie by default: a directory of the user's configuration,
// which confined commands cannot read.
func Dir() (string, error) { return userdir.Dir("logins", "logins") }

// Open names the store in dir, an absolute path. It makes nothing. A dir in
// one of the trees that tools may use is refused: a tool could read the
// tokens.
func Open(dir string, trees ...string) (*Store, error) {
	if err := userdir.Outside("logins", dir, trees...); err != nil {
		return nil, err
	}
	return &Store{dir: dir}, nil
}

// key names the login of a client at a server. Two clients at one server have
// nothing to do with each other.
func key(server string, c *Config) string {
	sum := sha256.New()
	for _, part := range []string{server, string(c.Grant), c.ClientID, c.ClientMetadataURL, c.Issuer} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// File is where the login at a server lies, whether there is one or not; ""
// for a store in memory.
func (s *Store) File(server string, c Config) string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, key(server, &c)+".json")
}

// load gives the login at a server, nil when there is none.
func (s *Store) load(server string, c *Config) (*Login, error) {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l, ok := s.memory[key(server, c)]; ok {
			return &l, nil
		}
		return nil, nil
	}
	file := s.File(server, *c)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError(err)
	}
	l := new(Login)
	if json.Unmarshal(data, l) != nil || l.Server != server {
		return nil, tool.Errorf(tool.Unavailable, "the login in %s is damaged",
			file).Suggest("Remove the file and log in again.")
	}
	return l, nil
}

// save keeps a login, whole or not at all. The lock is held.
func (s *Store) save(l *Login, c *Config) error {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.memory[key(l.Server, c)] = *l
		return nil
	}
	if err := atomicfile.Write(s.File(l.Server, *c), append(tool.MustMarshal(l), '\n'), 0o600); err != nil {
		return storeError(err)
	}
	return nil
}

// remove forgets the login at a server. The lock is held.
func (s *Store) remove(server string, c *Config) error {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.memory, key(server, c))
		return nil
	}
	if err := os.Remove(s.File(server, *c)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storeError(err)
	}
	return nil
}

// hold takes the lock of the login at a server, which all processes share: a
// refresh token may be good for one use only. It waits until ctx ends.
func (s *Store) hold(ctx context.Context, server string, c *Config) (release func(), err error) {
	if s.dir == "" {
		select {
		case s.lock <- struct{}{}:
			return func() { <-s.lock }, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, storeError(err)
	}
	f, err := os.OpenFile(filepath.Join(s.dir, key(server, c)+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, storeError(err)
	}
	if err := filelock.Await(ctx, f, true); err != nil {
		_ = f.Close()
		if ctx.Err() != nil {
			err = errors.New("another process holds on to it")
		}
		return nil, storeError(err)
	}
	return func() { _ = f.Close() }, nil
}

func storeError(err error) error {
	return tool.Errorf(tool.Unavailable, "the login cannot be read or kept: %w", err).
		Suggest("Make the directory toolhost/logins of your configuration readable and writable for yourself.")
}
