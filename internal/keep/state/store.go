package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/plainfile"
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

// Open names the state file at path, which must be absolute. It touches
// nothing: the file, and the directory it lies in, are made by the first write,
// so errors of the file come from there, and from reading one that is there.
// Close the store at the end.
func Open(path string) (*Store, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return nil, tool.Errorf(tool.InvalidArgument, "the state file needs an absolute path, not %q", path).
			Suggest("Give the path of a file inside the workspace's .agent directory.")
	}
	return &Store{path: filepath.Clean(path)}, nil
}

// Path is the state file's path.
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
	if err := s.prepareFile(); err != nil {
		return nil, err
	}
	refuseSuperJournals()
	db, err := sql.Open("sqlite", dataSource(s.path))
	if err != nil {
		return nil, s.failure("open", err)
	}
	db.SetMaxOpenConns(4)
	if err := retryBusy(ctx, func() error { return migrate(ctx, db) }); err != nil {
		db.Close()
		return nil, s.failure("open", err)
	}
	s.db = db
	return db, nil
}

// prepareFile makes the file readable by its owner alone before SQLite opens
// it, and refuses links and special files that a workspace may have brought along.
func (s *Store) prepareFile() error {
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return s.failure("make the directory of", err)
	}
	if err := s.refuseSpecial(dir); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := s.refuseSpecial(s.path + suffix); err != nil {
			return err
		}
	}
	dirRoot, err := plainfile.Root(dir)
	if err != nil {
		return s.failure("open the directory of", err)
	}
	defer dirRoot.Close()
	file, err := plainfile.OpenIn(dirRoot, filepath.Base(s.path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return s.failure("open", err)
	}
	return file.Close()
}

func (s *Store) refuseSpecial(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return s.failure("look at", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return tool.Errorf(tool.PathOutsideWorkspace, "%s is a symbolic link; state is kept in a regular file only",
			path).
			Suggest("Remove the link; the next call makes the file.")
	case path == filepath.Dir(s.path):
		return nil // what it is shows when the file is made in it
	case info.IsDir():
		return tool.Errorf(tool.IsDirectory, "%s is a directory; the state file belongs there", path).
			Suggest("Move the directory away; the next call makes the file.")
	case !info.Mode().IsRegular():
		return tool.Errorf(tool.Blocked,
			"%s is a pipe, a device or another special file; state is kept in a regular file only", path).
			Suggest("Remove it; the next call makes the file.")
	}
	return nil
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
			"trusted_schema(OFF)",
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
	if _, err := tx.ExecContext(ctx, strings.Replace(createEntries, "TABLE", "TABLE IF NOT EXISTS", 1)); err != nil {
		return err
	}
	if err := checkLayout(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

const createEntries = `CREATE TABLE entries (
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

// EndSession drops everything that session stored in the session scope, for
// every source. A session that stored nothing is no error.
func (s *Store) EndSession(ctx context.Context, session string) error {
	if !s.inUse() {
		return nil
	}
	err := s.write(ctx, func(tx *sql.Tx) error {
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
	err := s.write(ctx, func(tx *sql.Tx) error {
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
// neither makes the file: the workspace may be read-only.
func (s *Store) inUse() bool {
	s.mu.Lock()
	opened := s.db != nil || s.closed
	s.mu.Unlock()
	if opened {
		return true
	}
	info, err := os.Lstat(s.path)
	return err == nil && info.Size() > 0
}
