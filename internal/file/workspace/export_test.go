package workspace

import (
	"errors"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/internal/file/rights"
)

// OnSync puts f in the place of File.Sync, and has nothing synced together.
func (w *Workspace) OnSync(f func(*os.File) error) {
	w.core.sync = f
	w.OnSyncTogether(func([]*os.File) error { return errors.ErrUnsupported })
}

// OnSyncTogether puts f in the place of a sync of many files.
func (w *Workspace) OnSyncTogether(f func([]*os.File) error) { w.core.syncTogether = f }

// OpenAtMost bounds how many new files of a batch are open at a time.
func (w *Workspace) OpenAtMost(n int) { w.core.drafts = n }

// ForgetExchange makes w one of a system that cannot exchange two files.
func (w *Workspace) ForgetExchange() {
	w.core.exchange = func(*resolvedPath, string) error { return errors.ErrUnsupported }
}

// OnRename has a rename of a new file over an old one fail, and no files exchanged.
func (w *Workspace) OnRename(err error) {
	w.ForgetExchange()
	w.core.rename = func(*os.Root, string, string) error { return &os.LinkError{Op: "renameat", Err: err} }
}

// OnGive has the rights of an old file refused to a new one.
func (w *Workspace) OnGive(lost *rights.Lost) {
	w.core.give = func(*rights.Rights, *os.File, fs.FileMode, func() error) error { return lost }
}
