//go:build !linux

package workspace

import (
	"errors"
	"os"
)

func startWriting(*os.File) {}

func syncTogether([]*os.File) error { return errors.ErrUnsupported }

func beingWritten(*os.File) (writing, known bool) { return false, false }
