package state

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// Directory returns a store with a file for each value, NAME/KEY.json.
func (s *Store) Directory(name string) tool.State {
	if s.dir == "" {
		return &entries{store: s, source: name, file: name}
	}
	return &directory{store: s, name: name}
}

type directory struct {
	store *Store
	name  string
}

var _ tool.State = (*directory)(nil)

func (d *directory) path(key string) string {
	return filepath.Join(d.store.dir, d.name, fileName(key)+".json")
}

func (d *directory) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if err := errors.Join(ctx.Err(), d.store.usable()); err != nil {
		return nil, false, d.store.failure("read", err)
	}
	path := d.path(key)
	value, err = plainfile.Read(path, MaxValue)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if info, statErr := os.Lstat(path); err != nil && statErr == nil && info.IsDir() {
		return nil, false, isDirectory(path)
	}
	return value, err == nil, d.store.failure("read "+d.name+" of", err)
}

func (d *directory) Set(ctx context.Context, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return d.Update(ctx, key, func([]byte) ([]byte, error) { return value, nil })
}

func (d *directory) Delete(ctx context.Context, key string) error {
	return d.Update(ctx, key, func([]byte) ([]byte, error) { return nil, nil })
}

func (d *directory) Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	if err := checkKey(key); err != nil {
		return err
	}
	unlock, err := d.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old, there, err := d.Get(ctx, key)
	if err != nil {
		return err
	}
	value, err := change(old)
	switch {
	case err != nil:
		return err
	case value != nil:
		return d.store.failure("write "+d.name+" of", d.store.replace(d.path(key), value))
	case there:
		return d.store.failure("remove "+d.name+" of", os.Remove(d.path(key)))
	}
	return nil
}

func (d *directory) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	if err := errors.Join(ctx.Err(), d.store.usable()); err != nil {
		return nil, d.store.failure("read", err)
	}
	files, err := os.ReadDir(filepath.Join(d.store.dir, d.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, d.store.failure("list "+d.name+" of", err)
	}
	keys = []string{}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".json")
		key, err := url.PathUnescape(name)
		if ok && err == nil && fileName(key) == name && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
