package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// writeUserFile writes a file below the current directory or another existing one. That tree may be
// from a repository, so no link may lead the file out of it, or to what git runs.
func writeUserFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	base, rel := ".", ""
	if below, ok := belowHere(dir); ok {
		rel = below
	} else {
		for base = filepath.Clean(dir); !isThere(base) && filepath.Dir(base) != base; base = filepath.Dir(base) {
			rel = filepath.Join(filepath.Base(base), rel)
		}
	}
	ws, err := workspace.Open(base, workspace.Options{Protect: []string{".git/**", "**/.git/**"}})
	if err != nil {
		return err
	}
	defer ws.Close()
	_, err = ws.WriteFile(filepath.Join(rel, filepath.Base(path)), data, workspace.WriteOptions{})
	return err
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// belowHere returns a path relative to the current directory, if within it.
func belowHere(path string) (string, bool) {
	here, err := filepath.Abs(".")
	if err != nil {
		return "", false
	}
	there, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(here, there)
	return rel, err == nil && filepath.IsLocal(rel)
}

// notWritten returns why a file cannot be written, with the suggestion otherwise unless a link is the
// reason.
func notWritten(path string, err error, otherwise string) *tool.Error {
	if tool.CodeOf(err) == tool.PathOutsideWorkspace {
		return tool.Errorf(tool.PathOutsideWorkspace, "%s is not written: a symlink leads out of this directory", path).
			Suggest("Name the file that it leads to, or remove the symlink if you do not know it.")
	}
	if e, ok := errors.AsType[*tool.Error](err); ok && e.Details["pattern"] != nil {
		return tool.Errorf(tool.PermissionDenied, "%s is not written: it lies in .git, or a symlink leads there", path).
			Suggest("Name another place; if there is a symlink that you do not know, remove it.")
	}
	return cannotWrite(path, err).Suggest("%s", otherwise)
}
