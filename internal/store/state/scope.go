package state

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

// MaxKey and MaxValue bound one entry, in bytes.
const (
	MaxKey   = 1024
	MaxValue = 16 << 20
)

// Scope returns the store of one source. Entries of [tool.SessionScope] belong to session and end with it;
// entries of [tool.PersistentScope] are the same for every session. Scope accesses no file.
func (s *Store) Scope(source string, scope tool.Scope, session string) tool.State {
	if scope == tool.PersistentScope {
		return &entries{store: s, source: source, file: memoriesFile}
	}
	return &entries{store: s, source: source, file: sessionFile(session)}
}

// sessionFile returns the file of a session.
func sessionFile(session string) string {
	return filepath.Join(sessionsDir, fileName(session)+".json")
}

// fileName returns name with characters special in file names as %XX.
func fileName(name string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(name) {
		c := name[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' ||
			c == '.' && i > 0
		if plain {
			out.WriteByte(c)
			continue
		}
		out.WriteByte('%')
		out.WriteByte(hex[c>>4])
		out.WriteByte(hex[c&15])
	}
	return out.String()
}

// entries is the tool.State of one source in one file.
type entries struct {
	store        *Store
	source, file string
}

var _ tool.State = (*entries)(nil)

func (e *entries) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, e.store.failure("read", err)
	}
	c, err := e.store.load(e.file)
	if err != nil {
		return nil, false, err
	}
	value, ok = c[e.source][key]
	return slices.Clone(value), ok, nil
}

func (e *entries) Set(ctx context.Context, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return e.Update(ctx, key, func([]byte) ([]byte, error) { return value, nil })
}

func (e *entries) Delete(ctx context.Context, key string) error {
	return e.Update(ctx, key, func([]byte) ([]byte, error) { return nil, nil })
}

func (e *entries) Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	if err := checkKey(key); err != nil {
		return err
	}
	unlock, err := e.store.turn(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c, err := e.store.load(e.file)
	if err != nil {
		return err
	}
	old := c[e.source][key]
	value, err := change(slices.Clone(old))
	if err != nil {
		return err
	}
	if len(value) > MaxValue {
		return tool.Errorf(tool.TooLarge, "the value of state key %q has %d bytes; the limit is %d", key,
			len(value), MaxValue).
			Suggest("Put large data in a file, and only its path in the state.")
	}
	return e.store.save(e.file, c.with(e.source, key, value))
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey || !utf8.ValidString(key) {
		return tool.Errorf(tool.InvalidArgument, "a state key is text of 1 to %d bytes, this one has %d", MaxKey, len(key)).
			Suggest("Choose a shorter, non-empty key.")
	}
	return nil
}

// with returns the content with a value, or without it if nil.
func (c content) with(source, key string, value []byte) content {
	if c == nil {
		c = make(content)
	}
	if value != nil {
		if c[source] == nil {
			c[source] = make(map[string][]byte)
		}
		c[source][key] = slices.Clone(value)
		return c
	}
	delete(c[source], key)
	if len(c[source]) == 0 {
		delete(c, source)
	}
	return c
}

func (e *entries) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, e.store.failure("read", err)
	}
	c, err := e.store.load(e.file)
	if err != nil {
		return nil, err
	}
	keys = []string{}
	for key := range c[e.source] {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// turn takes the lock for a change, also in memory.
func (s *Store) turn(ctx context.Context) (done func(), err error) {
	if s.dir != "" {
		return s.lock(ctx)
	}
	s.changing.Lock()
	return s.changing.Unlock, nil
}

// replace makes data the content of the file at path, synced.
func (s *Store) replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, data, 0o600)
}
