package record

import "os"

// lock waits for the lock named by a file of root.
func lock(root *os.Root, name string) (unlock func(), err error) {
	file, err := openPlain(root, name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	release, err := lockHandle(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() {
		release()
		file.Close()
	}, nil
}
