//go:build !linux

package record

import "os"

func openHead(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
