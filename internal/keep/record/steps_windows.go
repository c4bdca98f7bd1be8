package record

import "os"

const stepsFlags = os.O_RDWR | os.O_CREATE

// appendByte adds a byte to the end and gives the position after it, with the
// file locked in between.
func appendByte(file *os.File) (int64, error) {
	unlock, err := lockHandle(file)
	if err != nil {
		return 0, err
	}
	defer unlock()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if _, err := file.WriteAt([]byte{'.'}, info.Size()); err != nil {
		return 0, err
	}
	return info.Size() + 1, nil
}
