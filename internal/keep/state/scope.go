package state

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// MaxKey and MaxValue bound what one entry holds, in bytes.
const (
	MaxKey   = 1024
	MaxValue = 16 << 20
)

// Scope gives the store of one source. Entries of [tool.SessionScope] belong
// to session and go with it; entries of [tool.PersistentScope] are the same
// for every session. Scope itself touches nothing.
func (s *Store) Scope(source string, scope tool.Scope, session string) tool.State {
	if scope == tool.PersistentScope {
		session = ""
	}
	return &entries{store: s, source: source, scope: string(scope), session: session}
}

// entries is the tool.State of one source, scope and session.
type entries struct {
	store                  *Store
	source, scope, session string
}

var _ tool.State = (*entries)(nil)

// querier is what a database and a transaction have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (e *entries) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if !e.store.inUse() {
		return nil, false, ctx.Err()
	}
	err = e.store.transact(ctx, true, func(tx *sql.Tx) (err error) {
		value, ok, err = e.get(ctx, tx, key)
		return err
	})
	return value, ok, e.store.failure("read", err)
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
	if key == "" || len(key) > MaxKey {
		return tool.Errorf(tool.InvalidArgument, "a state key has 1 to %d bytes, this one has %d", MaxKey, len(key)).
			Suggest("Choose a shorter, non-empty key.")
	}
	db, err := e.store.open(ctx)
	if err != nil {
		return err
	}
	return e.store.failure("change", e.update(ctx, db, key, change))
}

// update runs change at most once: only taking the lock is retried.
func (e *entries) update(ctx context.Context, db *sql.DB, key string, change func([]byte) ([]byte, error)) error {
	tx, err := begin(ctx, db, false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	old, _, err := e.get(ctx, tx, key)
	if err != nil {
		return err
	}
	value, err := change(old)
	if err != nil {
		return &changeError{err}
	}
	if err := e.put(ctx, tx, key, value); err != nil {
		return err
	}
	return tx.Commit()
}

func (e *entries) get(ctx context.Context, q querier, key string) (value []byte, ok bool, err error) {
	row := q.QueryRowContext(ctx, "SELECT value FROM entries WHERE source = ? AND scope = ? AND session = ? AND key = ?",
		e.source, e.scope, e.session, key)
	err = row.Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil && value == nil {
		value = []byte{}
	}
	return value, err == nil, err
}

func (e *entries) put(ctx context.Context, q querier, key string, value []byte) error {
	if value == nil {
		_, err := q.ExecContext(ctx,
			"DELETE FROM entries WHERE source = ? AND scope = ? AND session = ? AND key = ?",
			e.source, e.scope, e.session, key)
		return err
	}
	if len(value) > MaxValue {
		return tool.Errorf(tool.TooLarge, "the value of state key %q has %d bytes; at most %d are kept", key,
			len(value), MaxValue).
			Suggest("Keep large data in a file and its path in the state.")
	}
	_, err := q.ExecContext(ctx,
		`INSERT INTO entries (source, scope, session, key, value, changed) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value, changed = excluded.changed`,
		e.source, e.scope, e.session, key, value, time.Now().UnixMilli())
	return err
}

func (e *entries) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	if !e.store.inUse() {
		return []string{}, ctx.Err()
	}
	err = e.store.transact(ctx, true, func(tx *sql.Tx) (err error) {
		keys, err = e.keys(ctx, tx, prefix)
		return err
	})
	return keys, e.store.failure("read", err)
}

// keys compares prefixes as bytes, so that no character of one is a wildcard.
func (e *entries) keys(ctx context.Context, tx *sql.Tx, prefix string) ([]string, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT key FROM entries WHERE source = ?1 AND scope = ?2 AND session = ?3
		AND substr(CAST(key AS BLOB), 1, ?4) = ?5 ORDER BY key`,
		e.source, e.scope, e.session, len(prefix), []byte(prefix))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	keys := []string{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

// changeError carries an error of the caller's change function through
// [Store.failure] untouched by SQLite's classes.
type changeError struct{ err error }

func (e *changeError) Error() string { return e.err.Error() }
