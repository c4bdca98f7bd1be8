package state

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// schemaVersion is the layout of the file that this program reads and writes.
const schemaVersion = 1

// lockWait is how long a writer waits for its turn among other processes.
// SQLite's own waiting does not end with a context, so it gets a part of it
// only, and retryBusy goes on.
const (
	lockWait       = 10 * time.Second
	sqliteLockWait = 100 * time.Millisecond
)

// Store is one state file. Its methods may be called from any goroutine.
type Store struct {
	path string

	mu     sync.Mutex
	db     *sql.DB
	closed bool
}

// Open names the state file at path, which must be absolute and lie where only
// the user may write. It touches nothing: the file, and the directory it lies in,
// are made by the first write, so errors of the file come from there, and from
// reading one that is there. Close the store at the end.
func Open(path string) (*Store, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return nil, tool.Errorf(tool.InvalidArgument, "the state file needs an absolute path, not %q", path).
			Suggest("Give the path of a file in the user's own state.")
	}
	return &Store{path: filepath.Clean(path)}, nil
}

// InMemory is a store that ends with the process, for where nothing can be kept.
func InMemory() *Store { return &Store{} }

// Path is the state file's path, "" in memory.
func (s *Store) Path() string { return s.path }

// Close releases the file. Later accesses fail as unavailable. A store that
// was never used has nothing to release.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	return s.failure("close", db.Close())
}

// open gives the database, making and checking it at the first use. A failure
// is not remembered: the next access tries again.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, tool.Errorf(tool.Unavailable, "the state file %s is closed", s.path).
			Suggest("The host is shutting down; call again in a new one.")
	}
	if s.db != nil {
		return s.db, nil
	}
	source, conns := dataSource(s.path), 4
	if s.path == "" {
		source, conns = ":memory:", 1 // which goes with its only connection
	} else if err := s.prepareFile(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, s.failure("open", err)
	}
	db.SetMaxOpenConns(conns)
	if err := retryBusy(ctx, func() error { return migrate(ctx, db) }); err != nil {
		db.Close()
		return nil, s.failure("open", err)
	}
	s.db = db
	return db, nil
}

// prepareFile makes the file readable by its owner alone before SQLite opens
// it.
func (s *Store) prepareFile() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return s.failure("make the directory of", err)
	}
	info, err := os.Lstat(s.path)
	if err == nil && info.IsDir() {
		return tool.Errorf(tool.IsDirectory, "%s is a directory; the state file belongs there", s.path).
			Suggest("Move the directory away; the next call makes the file.")
	}
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return s.failure("open", err)
	}
	return file.Close()
}

// dataSource sets up every connection: a wait for locks, a write-ahead log
// and transactions that take the write lock at once, so that none fails
// half-way because another writer came first.
func dataSource(path string) string {
	slashed := filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		slashed = "/" + slashed
	}
	query := url.Values{
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", sqliteLockWait.Milliseconds()),
			"journal_mode(WAL)",
			"synchronous(NORMAL)",
		},
		"_txlock": {"immediate"},
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}).String()
}

// migrate brings an empty file to the current layout and refuses a newer one.
func migrate(ctx context.Context, db *sql.DB) error {
	version, err := userVersion(ctx, db)
	if err != nil || version == schemaVersion {
		return err
	}
	if version > schemaVersion {
		return &versionError{have: version}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, createEntries); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

const createEntries = `CREATE TABLE IF NOT EXISTS entries (
	source  TEXT NOT NULL,
	scope   TEXT NOT NULL,
	session TEXT NOT NULL,
	key     TEXT NOT NULL,
	value   BLOB NOT NULL,
	changed INTEGER NOT NULL,
	PRIMARY KEY (source, scope, session, key)
) WITHOUT ROWID, STRICT`

func userVersion(ctx context.Context, db *sql.DB) (version int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}

// begin takes the lock and begins a transaction.
func begin(ctx context.Context, db *sql.DB, readOnly bool) (tx *sql.Tx, err error) {
	err = retryBusy(ctx, func() error {
		tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: readOnly})
		return err
	})
	return tx, err
}

// transact runs do on one state of the file and commits what it changed. It may
// be run again where another process held the file.
func (s *Store) transact(ctx context.Context, readOnly bool, do func(*sql.Tx) error) error {
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	return retryBusy(ctx, func() error {
		tx, err := begin(ctx, db, readOnly)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := do(tx); err != nil || readOnly {
			return err
		}
		return tx.Commit()
	})
}

// EndSession drops everything that session stored in the session scope, for
// every source. A session that stored nothing is no error.
func (s *Store) EndSession(ctx context.Context, session string) error {
	if !s.inUse() {
		return nil
	}
	err := s.transact(ctx, false, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM entries WHERE scope = ? AND session = ?",
			string(tool.SessionScope), session)
		return err
	})
	return s.failure("change", err)
}

// DropOlder drops session entries that no session has changed since before,
// left by hosts that ended without [Store.EndSession]. It gives the number of
// entries dropped.
func (s *Store) DropOlder(ctx context.Context, before time.Time) (int64, error) {
	if !s.inUse() {
		return 0, nil
	}
	var dropped int64
	err := s.transact(ctx, false, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM entries WHERE scope = ?1 AND session IN (
			SELECT session FROM entries WHERE scope = ?1 GROUP BY session HAVING max(changed) < ?2)`,
			string(tool.SessionScope), before.UnixMilli())
		if err == nil {
			dropped, err = result.RowsAffected()
		}
		return err
	})
	return dropped, s.failure("change", err)
}

// inUse reports whether there can be anything to read or to drop, so that
// neither makes the file.
func (s *Store) inUse() bool {
	s.mu.Lock()
	opened := s.db != nil || s.closed
	s.mu.Unlock()
	if opened {
		return true
	}
	if s.path == "" {
		return false
	}
	info, err := os.Lstat(s.path)
	return err == nil && info.Size() > 0
}
