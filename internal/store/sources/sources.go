// Package sources keeps, beside the state of a workspace, what its plugins and MCP
// servers said last, and since when a person wants them restarted. No tool can
// read or write there.
package sources

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/text/matching"
)

// Kind is what a source is.
type Kind string

// The kinds of sources that have processes or connections.
const (
	Plugin Kind = "plugin"
	Server Kind = "mcp"
)

// MostSaid bounds what is kept of what a source said, in bytes.
const MostSaid = 256 << 10

// mostLine bounds a line of it.
const mostLine = 4 << 10

// Kept are the sources of one workspace. An empty one keeps nothing.
type Kept struct {
	// State is the directory of the workspace's state.
	State string
}

// plainName matches the names that files have as they are.
var plainName = matching.Lazy(`^[A-Za-z0-9_-]{1,64}$`)

// file is what is kept of a source under one of the directories.
func (k Kept) file(dir string, kind Kind, name string) string {
	if !plainName().MatchString(name) {
		sum := sha256.Sum256([]byte(name))
		name = "." + hex.EncodeToString(sum[:16])
	}
	return filepath.Join(k.State, dir, string(kind)+"-"+name)
}

// Said keeps a line that a source said, with its time. Who calls it has taken
// secrets out, and made it a line.
func (k Kept) Said(kind Kind, name, line string) error {
	if k.State == "" {
		return nil
	}
	path := k.file("said", kind, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	line = strings.ReplaceAll(line[:min(len(line), mostLine)], "\n", " ")
	_, err = f.WriteString(time.Now().UTC().Format(time.RFC3339) + " " + strings.ToValidUTF8(line, "\uFFFD") + "\n")
	info, failed := f.Stat()
	if err = errors.Join(err, failed, f.Close()); err != nil || info.Size() < MostSaid/2 {
		return err
	}
	// Another process may have done it since.
	now, err := os.Stat(path)
	if err == nil && os.SameFile(now, info) {
		err = os.Rename(path, path+".before")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// LastSaid gives what a source said last, the oldest first; "" for nothing.
func (k Kept) LastSaid(kind Kind, name string) (string, error) {
	var all []byte
	path := k.file("said", kind, name)
	for _, path := range []string{path + ".before", path} {
		data, err := plainfile.Read(path, MostSaid)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		all = append(all, data...)
	}
	if over := len(all) - MostSaid; over > 0 {
		_, all, _ = bytes.Cut(all[over:], []byte("\n"))
	}
	return string(all), nil
}

// Restart has all running processes of toolhost restart a source.
func (k Kept) Restart(kind Kind, name string) error {
	return atomicfile.WriteCache(k.File(kind, name), []byte(time.Now().UTC().Format(time.RFC3339Nano)))
}

// File is the file whose change means that a source is to be restarted.
func (k Kept) File(kind Kind, name string) string { return k.file("restart", kind, name) }

// Since is when somebody wanted a source restarted last; zero for never.
func (k Kept) Since(kind Kind, name string) time.Time {
	if k.State == "" {
		return time.Time{}
	}
	data, _ := plainfile.Read(k.File(kind, name), 64)
	at, _ := time.Parse(time.RFC3339Nano, string(data))
	return at.UTC()
}
