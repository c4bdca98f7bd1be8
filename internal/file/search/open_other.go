//go:build !linux

package search

import (
	"errors"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

type fastOpener struct{}

func newFastOpener(*workspace.Workspace) *fastOpener { return nil }

func (*fastOpener) close() {}

func (*fastOpener) open(string) (source, int64, error) { return nil, 0, errors.ErrUnsupported }
