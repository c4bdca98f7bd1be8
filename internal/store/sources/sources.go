// Package sources keeps, in the state of a workspace, the last output of its plugins and MCP servers, and when
// a person last requested their restart. Tools cannot read or write there.
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
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Kind is the kind of a source.
type Kind string

// The kinds of sources with processes or connections.
const (
	Plugin Kind = "plugin"
	Server Kind = "mcp"
)

// MostSaid bounds the kept output of a source, in bytes.
const MostSaid = 256 << 10

// mostLine bounds a line of the output.
const mostLine = 4 << 10

// Kept are the sources of one workspace. The zero value keeps nothing.
type Kept struct {
	// State is the directory of the workspace's state.
	State string
}

// plainName matches names that are used as file names.
var plainName = regexlimit.Lazy(`^[A-Za-z0-9_-]{1,64}$`)

func (k Kept) file(dir string, kind Kind, name string) string {
	if !plainName().MatchString(name) {
		sum := sha256.Sum256([]byte(name))
		name = "." + hex.EncodeToString(sum[:16])
	}
	return filepath.Join(k.State, dir, string(kind)+"-"+name)
}

// Said appends a line of a source's output, with its time. The caller has redacted it and made it one line.
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

// LastSaid returns the last output of a source, oldest first.
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

// Restart makes all running processes of toolhost restart a source.
func (k Kept) Restart(kind Kind, name string) error {
	return atomicfile.WriteCache(k.File(kind, name), []byte(time.Now().UTC().Format(time.RFC3339Nano)))
}

// File returns the file whose change requests a restart of a source.
func (k Kept) File(kind Kind, name string) string { return k.file("restart", kind, name) }

// Since returns when a restart of a source was last requested; zero if never.
func (k Kept) Since(kind Kind, name string) time.Time {
	if k.State == "" {
		return time.Time{}
	}
	data, _ := plainfile.Read(k.File(kind, name), 64)
	at, _ := time.Parse(time.RFC3339Nano, string(data))
	return at.UTC()
}
