package workspace

import (
	"errors"
	"os"
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
	w.core.exchange = func(*place, string) error { return errors.ErrUnsupported }
}
