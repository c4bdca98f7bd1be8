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

// Login is what an authorization server issued for an MCP server.
type Login struct {
	// Server is the MCP server's URL, which alone gets the token.
	Server string `json:"server"`
	// Resource is the token's audience, Issuer its authorization server.
	Resource string `json:"resource"`
	Issuer   string `json:"issuer"`
	// TokenEndpoint renews the token, RevocationEndpoint, if any, revokes it.
	TokenEndpoint      string `json:"token_endpoint"`
	RevocationEndpoint string `json:"revocation_endpoint,omitempty"`
	// ClientID is the token's client. ClientSecret is set only for a dynamically registered client; ClientAuth
	// is how it authenticates.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitempty"`
	ClientAuth   string `json:"client_auth,omitempty"`
	// Scopes are the token's, as far as known.
	Scopes       []string `json:"scopes,omitempty"`
	AccessToken  string   `json:"access_token"`
	RefreshToken string   `json:"refresh_token,omitempty"`
	// Expires is when AccessToken ends; zero if unknown. At is the last consent by a user or the client's secret.
	Expires time.Time `json:"expires,omitzero"`
	At      time.Time `json:"at"`
}

// early is how long before its end a token counts as expired, as a request takes time.
const early = 30 * time.Second

func (l *Login) fresh() bool {
	return l.AccessToken != "" && (l.Expires.IsZero() || time.Until(l.Expires) > early)
}

func (l *Login) secrets() []string {
	return slices.DeleteFunc([]string{l.AccessToken, l.RefreshToken, l.ClientSecret},
		func(s string) bool { return s == "" })
}

// Store stores logins in a directory of the user, a private file for each, or in memory.
type Store struct {
	dir string

	mu     sync.Mutex
	memory map[string]Login
	lock   chan struct{} // replaces the file lock in memory
}

// InMemory returns a store in memory.
func InMemory() *Store {
	return &Store{memory: make(map[string]Login), lock: make(chan struct{}, 1)}
}

// Dir returns the default directory of logins, in the user's configuration, which confined commands cannot
// read.
func Dir() (string, error) { return userdir.Dir("logins", "logins") }

// Open returns the store in dir, an absolute path, without making it. A dir within one of trees, which tools may
// use, is refused: a tool could read the tokens.
func Open(dir string, trees ...string) (*Store, error) {
	if err := userdir.Outside("logins", dir, trees...); err != nil {
		return nil, err
	}
	return &Store{dir: dir}, nil
}

// key names a client's login at a server. Two clients at one server are separate.
func key(server string, c *Config) string {
	sum := sha256.New()
	for _, part := range []string{server, string(c.Grant), c.ClientID, c.ClientMetadataURL, c.Issuer} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// File returns the path of the login at a server, existing or not; "" for a store in memory.
func (s *Store) File(server string, c Config) string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, key(server, &c)+".json")
}

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

// save atomically writes a login. Must be called with the lock held.
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

// remove deletes the login at a server. Must be called with the lock held.
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

// hold locks the login at a server for all processes: a refresh token may be good for one use only. It waits until
// ctx ends.
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
