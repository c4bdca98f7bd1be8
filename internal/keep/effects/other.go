//go:build !linux

package effects

import (
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// Nothing watches processes here.

func look(watch.Place, bool, int64) undo.State { return undo.State{} }

func now(string) undo.State { return undo.State{} }

// Rename implements watch.Watcher.
func (c *Call) Rename(_, _ watch.Place, _ bool) {}

func (c *Call) linked() map[undo.FileID][]string { return nil }

func (c *Call) beforeLink(string, watch.What) {}
