package workspace

import (
	"errors"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/internal/file/rights"
)

// OnSync replaces File.Sync by f and prevents syncs of many files together.
func (w *Workspace) OnSync(f func(*os.File) error) {
	w.core.sync = f
	w.OnSyncTogether(func([]*os.File) error { return errors.ErrUnsupported })
}

// OnSyncTogether replaces the sync of many files.
func (w *Workspace) OnSyncTogether(f func([]*os.File) error) { w.core.syncTogether = f }

// OpenAtMost limits the new files of a batch open at a time.
func (w *Workspace) OpenAtMost(n int) { w.core.drafts = n }

// ForgetExchange makes w behave as on a system that cannot exchange two files.
func (w *Workspace) ForgetExchange() {
	w.core.exchange = func(*resolvedPath, string) error { return errors.ErrUnsupported }
}

// OnRename makes the rename of a new file over an old one fail, and prevents exchanges.
func (w *Workspace) OnRename(err error) {
	w.ForgetExchange()
	w.core.rename = func(*os.Root, string, string) error { return &os.LinkError{Op: "renameat", Err: err} }
}

// OnGive makes giving an old file's rights to a new one fail.
func (w *Workspace) OnGive(lost *rights.Lost) {
	w.core.give = func(*rights.Rights, *os.File, fs.FileMode, func() error) error { return lost }
}
