//go:build !linux

package effects

import (
	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Processes are not watched here.

func readState(watch.Place, bool, int64) undo.State { return undo.State{} }

func (c *Call) now(string) undo.State { return undo.State{} }

func (c *Call) moveTree(_, _ watch.Place) {}

func (c *Call) beforeLinks(undo.State, watch.What) {}

func (c *Call) beforeLink(string, watch.What) {}
