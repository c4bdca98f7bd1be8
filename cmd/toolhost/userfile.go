package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// userTree is where files lie that the user has toolhost write: the current
// directory, or another that was named. It may have come with a repository, so
// no link in it leads a file out of it, or to what git runs.
type userTree struct {
	ws  *workspace.Workspace
	dir string // in the workspace
}

// openTree opens the tree that dir lies in, which need not exist.
func openTree(dir string) (*userTree, error) {
	base, rel := ".", ""
	if below, ok := belowHere(dir); ok {
		rel = below
	} else {
		for base = filepath.Clean(dir); !isThere(base) && filepath.Dir(base) != base; base = filepath.Dir(base) {
			rel = filepath.Join(filepath.Base(base), rel)
		}
	}
	ws, err := workspace.Open(base, workspace.Options{Protect: []string{".git/**", "**/.git/**"}})
	return &userTree{ws, rel}, err
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// belowHere gives a path relative to the current directory, if it lies there.
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

func (t *userTree) close() { _ = t.ws.Close() }

// same reports whether the file has that content.
func (t *userTree) same(name string, data []byte) bool {
	old, _, err := t.ws.ReadFile(filepath.Join(t.dir, name), int64(len(data))+1)
	return err == nil && bytes.Equal(old, data)
}

// write writes a file and, where parents says so, the directories above it.
func (t *userTree) write(name string, data []byte, parents bool) error {
	_, err := t.ws.WriteFile(filepath.Join(t.dir, name), data, workspace.WriteOptions{Parents: parents})
	return err
}

// writeUserFile writes one file for the user.
func writeUserFile(path string, data []byte) error {
	tree, err := openTree(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer tree.close()
	return tree.write(filepath.Base(path), data, false)
}

// notWritten says why a file cannot be written, and what to do unless a link is
// the reason.
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
