package console

import "golang.org/x/sys/windows"

// openFile opens a file in the user's browser.
func openFile(path string) error {
	open, err := windows.UTF16PtrFromString("open")
	if err != nil {
		return err
	}
	file, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	return windows.ShellExecute(0, open, file, nil, nil, windows.SW_SHOWNORMAL)
}
