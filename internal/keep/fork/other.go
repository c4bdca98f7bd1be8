//go:build !linux

package fork

import (
	"context"
	"errors"
	"runtime"

	"github.com/toolhost/toolhost/internal/keep/review"
)

// Fork is a fork that is held. There are none here.
type Fork struct{ Info }

// Merge is what a merge of a fork would do.
type Merge struct {
	Changes   *review.Changes
	Conflicts []Conflict
	Left      []Left
}

func none() error { return NotHere("this is " + runtime.GOOS) }

// Create fails.
func Create(_, _, _ string) error { return none() }

// List gives none.
func List(string) ([]Info, error) { return nil, nil }

// Hold fails.
func Hold(_, _ string) (*Fork, error) { return nil, none() }

// Open fails.
func Open(_, _, _ string) (*Fork, error) { return nil, none() }

// Named fails.
func Named(_, _ string) (*Fork, error) { return nil, none() }

// Inside gives none.
func Inside() (*Fork, string) { return nil, "" }

// Stage fails.
func Stage([]string) error {
	return errors.New("there are no forks of the workspace on " + runtime.GOOS)
}

// Enter fails.
func (f *Fork) Enter(context.Context, string, []string) (int, error) { return 0, none() }

// State is nowhere.
func (f *Fork) State() string { return "" }

// Sweep does nothing.
func (f *Fork) Sweep(bool) (int, error) { return 0, nil }

// Undone does nothing.
func (f *Fork) Undone(func(call, path string) bool) {}

// Diff fails.
func (f *Fork) Diff(context.Context) (*review.Changes, error) { return nil, none() }

// Plan fails.
func (f *Fork) Plan(context.Context) (*Merge, error) { return nil, none() }

// Drop fails.
func (f *Fork) Drop() error { return none() }

// Close does nothing.
func (f *Fork) Close() {}

// Empty reports that there is nothing to do.
func (m *Merge) Empty() bool { return true }

// Begin fails.
func (m *Merge) Begin(string) error { return none() }

// End fails.
func (m *Merge) End() error { return none() }
