package state

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlitelib "modernc.org/sqlite/lib"
)

// A rollback journal beside the state file may name another file, the super-
// journal of a transaction over several databases, which SQLite removes when it
// has rolled back. The state file takes part in none, but a workspace may bring
// a journal along, or a confined command make one at any moment. So SQLite may
// open no super-journal, and then does not touch what it took for one.

// opener is xOpen of sqlite3_vfs.
type opener func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32

var (
	systemOpen  opener
	guardedOpen opener = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
		if flags&sqlitelib.SQLITE_OPEN_SUPER_JOURNAL != 0 {
			return sqlitelib.SQLITE_CANTOPEN
		}
		return systemOpen(tls, vfs, name, file, flags, out)
	}
)

// refuseSuperJournals holds for the whole process from then on. SQLite, which
// is translated from C, keeps functions as addresses.
var refuseSuperJournals = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	address := sqlitelib.Xsqlite3_vfs_find(tls, 0) // the default one
	vfs := *(**sqlitelib.Tsqlite3_vfs)(unsafe.Pointer(&address))
	systemOpen = *(*opener)(unsafe.Pointer(&vfs.FxOpen))
	vfs.FxOpen = *(*uintptr)(unsafe.Pointer(&guardedOpen))
})
