// Churn overwrites, renames or copies every file of a tree.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

var acts = map[string]func(path string) error{
	"overwrite": func(path string) error { return os.WriteFile(path, []byte("other\n"), 0o644) },
	"rename":    func(path string) error { return os.Rename(path, path+".moved") },
	"copy":      func(path string) error { return os.WriteFile(path+".new", make([]byte, 2<<10), 0o644) },
}

func main() {
	if err := churn(acts[os.Args[1]], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "churn:", err)
		os.Exit(1)
	}
}

func churn(act func(path string) error, dir string) error {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	for _, path := range files {
		if err == nil {
			err = act(path)
		}
	}
	return err
}
