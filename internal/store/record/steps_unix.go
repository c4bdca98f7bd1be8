//go:build !windows

package record

import "os"

const stepsFlags = os.O_WRONLY | os.O_CREATE | os.O_APPEND

// appendByte adds a byte to the end and gives the position after it. The
// kernel moves an appending file's offset under the same lock as it writes, so
// every writer gets its own position.
func appendByte(file *os.File) (int64, error) {
	if _, err := file.Write([]byte{'.'}); err != nil {
		return 0, err
	}
	return position(file)
}
