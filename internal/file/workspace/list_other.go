//go:build !linux

package workspace

import (
	"io"
	"os"
)

// list reads the directory f and stops soon after limit entries (0: none).
func list(f *os.File, limit int) (items []item, err error) {
	for limit == 0 || len(items) <= limit {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			items = append(items, item{name: e.Name(), mode: e.Type()})
		}
		if err == io.EOF {
			return items, nil
		}
		if err != nil {
			return items, err
		}
	}
	return items, nil
}
