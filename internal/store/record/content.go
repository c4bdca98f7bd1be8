package record

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/store/redact"
)

// Limits of an entry: content over inline gets its own file, and over mostContent its long texts are truncated.
const (
	inline      = 4 << 10
	mostContent = 16 << 20
	cutContent  = 1 << 20
)

// packed is a large content, ready to be stored.
type packed struct {
	blob  blob
	whole json.RawMessage
	data  []byte // compressed
}

// content returns the redacted form of v: inline, or packed.
func content(redactor *redact.Redactor, v any) (json.RawMessage, *packed, error) {
	data, err := marshal(v)
	if err != nil {
		return nil, nil, err
	}
	clean := redactor.JSON(data)
	if len(clean) > mostContent {
		clean = (*redact.Redactor)(nil).Rewrite(clean, cutContent)
	}
	if len(clean) <= inline {
		return clean, nil, nil
	}
	p, err := pack(clean)
	return nil, p, err
}

func pack(data []byte) (*packed, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	return &packed{blob{digest(data), int64(len(data))}, data, out.Bytes()}, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// store writes a content to a segment's objects, once, and returns the bytes added.
func (l *eventLog) store(segment int64, p *packed) (int64, error) {
	dir := l.objectDir(segment)
	name := filepath.Join(dir, p.blob.Hash+".gz")
	if there, err := os.ReadFile(name); err == nil {
		if content, err := unpack(there, p.blob.Bytes); err == nil && digest(content) == p.blob.Hash {
			return 0, nil
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	temporary := name + ".new"
	err := os.WriteFile(temporary, p.data, 0o600)
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(temporary))
	}
	return int64(len(p.data)), nil
}

// unpack returns at most size bytes of content.
func unpack(data []byte, size int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(r, size+1))
	return content, errors.Join(err, r.Close())
}

var errChanged = errors.New("it has been changed")

func (l *eventLog) load(segment int64, e *entry) (json.RawMessage, error) {
	if e.Blob == nil {
		return e.Content, nil
	}
	data, err := os.ReadFile(filepath.Join(l.objectDir(segment), filepath.Base(e.Blob.Hash)+".gz"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it is missing")
	}
	if err != nil {
		return nil, err
	}
	content, err := unpack(data, e.Blob.Bytes)
	if err != nil || digest(content) != e.Blob.Hash {
		return nil, errChanged
	}
	return content, nil
}

// DiffName is the path, in the run directory, of the patch that a call applied.
func DiffName(step int) string { return fmt.Sprintf("diffs/step_%04d.patch", step) }

// LogName is the path, in the run directory, of a call's complete output stream ("stdout", "stderr").
func LogName(step int, stream string) string {
	return fmt.Sprintf("logs/tool_step_%04d_%s.txt", step, stream)
}
