package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// errLayout says that the file holds what this program does not put into one.
var errLayout = errors.New("its layout is another one")

func foreignLayout(format string, args ...any) error {
	return fmt.Errorf("%w: it has "+format, append([]any{errLayout}, args...)...)
}

// checkLayout refuses a file in which SQLite would run what somebody else wrote:
// a trigger, a view in the table's place, an index over an expression. Of the
// rest only tables that nothing here uses are let be. It is asked in each
// transaction, as a workspace brings files along and commands may change them.
func checkLayout(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT type, name, tbl_name, ifnull(substr(sql, 1, ?), '') FROM sqlite_schema",
		2*len(createEntries))
	if err != nil {
		return err
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		var kind, name, table, text string
		if err := rows.Scan(&kind, &name, &table, &text); err != nil {
			return err
		}
		switch {
		case kind == "table" && name == "entries" && text == createEntries:
			found = true
		case table == "entries" || name == "entries" || !inert(kind, text):
			return foreignLayout("the %s %q", kind, name)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !found {
		return foreignLayout("no table of entries")
	}
	return nil
}

// inert reports whether a part of the layout is a plain table, or the index that
// comes with one.
func inert(kind, text string) bool {
	return kind == "table" && strings.HasPrefix(text, "CREATE TABLE ") || kind == "index" && text == ""
}

// begin takes the lock and begins a transaction on a file of the known layout.
func begin(ctx context.Context, db *sql.DB, readOnly bool) (tx *sql.Tx, err error) {
	err = retryBusy(ctx, func() error {
		if tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: readOnly}); err != nil {
			return err
		}
		if err = checkLayout(ctx, tx); err != nil {
			_ = tx.Rollback()
		}
		return err
	})
	return tx, err
}

// read runs do on one state of the file.
func (s *Store) read(ctx context.Context, do func(*sql.Tx) error) error {
	return s.transact(ctx, true, do)
}

// write runs do and commits. It may be run again where another process held
// the file.
func (s *Store) write(ctx context.Context, do func(*sql.Tx) error) error {
	return s.transact(ctx, false, do)
}

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
