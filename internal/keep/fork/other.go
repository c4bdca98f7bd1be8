//go:build !linux

package fork

import (
	"context"
	"os"
	"runtime"

	"github.com/toolhost/toolhost/internal/keep/review"
	"github.com/toolhost/toolhost/internal/keep/undo"
)

// Fork is a fork that is held. There are none here.
type Fork struct{ Info }

// Create fails here.
func Create(string, string, string) error { return NotHere("this is " + runtime.GOOS) }

// List gives none here.
func List(string) ([]Info, error) { return nil, nil }

// Open fails here.
func Open(string, string, string) (*Fork, error) { return nil, NotHere("this is " + runtime.GOOS) }
