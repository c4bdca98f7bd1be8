package workspace

import (
	"errors"
	"os"
)

// OnSync puts f in the place of File.Sync.
func (w *Workspace) OnSync(f func(*os.File) error) { w.core.sync = f }

// ForgetExchange makes w one of a system that cannot exchange two files.
func (w *Workspace) ForgetExchange() {
	w.core.exchange = func(*place, string) error { return errors.ErrUnsupported }
}
