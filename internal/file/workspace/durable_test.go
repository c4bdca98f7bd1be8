package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

type seenSync struct {
	synced string
	names  map[string]string // content by name
}

// watcher records what a directory holds each time files are synced.
type watcher struct {
	dir  string
	fail int // which sync fails, from 1; 0: no sync
	mu   sync.Mutex
	seen []seenSync
}

func (w *watcher) sync(f *os.File) error { return w.syncAll([]*os.File{f}) }

func (w *watcher) syncAll(files []*os.File) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := map[string]string{}
	entries, err := os.ReadDir(w.dir)
	for _, e := range entries {
		data, readErr := os.ReadFile(filepath.Join(w.dir, e.Name()))
		err = errors.Join(err, readErr)
		names[e.Name()] = string(data)
	}
	for _, f := range files {
		w.seen = append(w.seen, seenSync{filepath.Base(f.Name()), names})
		err = errors.Join(err, f.Sync())
	}
	if len(w.seen) == w.fail {
		return errors.New("the disk is on fire")
	}
	return err
}

// A test cannot make a power cut. Files stay whole through one by an order:
// every new content is written and synced before a name that users know leads
// to it.
func TestContentsAreSyncedBeforeNamesLeadToThem(t *testing.T) {
	testneed.NotShort(t, "follows the system calls of many writes")
	const files, atATime = 300, 120
	change := func(w *workspace.Workspace, dir string) error {
		changes := []workspace.Change{{Kind: workspace.Create, Path: "created", Data: []byte("new")},
			{Kind: workspace.Rename, Path: "moved", To: "there"}}
		for i := range files {
			changes = append(changes,
				workspace.Change{Kind: workspace.Replace, Path: fmt.Sprint("f", i), Data: []byte("new")})
		}
		return w.Batch(context.Background(), changes)
	}
	for name, c := range map[string]struct {
		do    func(w *workspace.Workspace, dir string) error
		syncs int
	}{
		"batch":           {change, files + 2},
		"batch, together": {change, files + 2},
		"write": {func(w *workspace.Workspace, _ string) error {
			_, err := w.WriteFile("f0", []byte("new"), workspace.WriteOptions{})
			return err
		}, 1},
		"create": {func(w *workspace.Workspace, _ string) error {
			_, err := w.WriteFile("created", []byte("new"), workspace.WriteOptions{Exclusive: true})
			return err
		}, 1},
		"append": {func(w *workspace.Workspace, _ string) error {
			_, err := w.Append("f0", []byte("new"), workspace.WriteOptions{})
			return err
		}, 1},
		"update": {func(w *workspace.Workspace, _ string) error {
			return w.Update("f0", func([]byte, fs.FileInfo) ([]byte, error) { return []byte("new"), nil })
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir, before := t.TempDir(), map[string]string{"moved": "old"}
			for i := range files {
				before[fmt.Sprint("f", i)] = "old"
			}
			for name, content := range before {
				plant(t, dir, name, content)
			}
			w := open(t, dir, workspace.Options{})
			w.OpenAtMost(atATime)
			watch := &watcher{dir: dir}
			w.OnSync(watch.sync)
			if name == "batch, together" {
				w.OnSync(func(*os.File) error { return errors.New("synced already") })
				w.OnSyncTogether(watch.syncAll)
			}
			require.NoError(t, c.do(w, dir))
			var synced []string
			for _, s := range watch.seen {
				content := s.names[s.synced]
				assert.Contains(t, []string{"new", "old", "oldnew"}, content,
					"the temporary file is written before it is synced")
				for name, content := range before {
					assert.Equal(t, content, s.names[name], "%s is as it was while something waits for the disk", name)
				}
				for name := range s.names {
					assert.True(t, strings.HasPrefix(name, ".toolhost-tmp-") || before[name] != "",
						"%s is there too early", name)
				}
				synced = append(synced, s.synced)
			}
			slices.Sort(synced)
			assert.Len(t, slices.Compact(synced), c.syncs, "each new file is synced")
		})
	}
}

// Content whose sync failed is put nowhere.
func TestBatchWithAFailedSyncChangesNothing(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, workspace.Options{})
	var changes []workspace.Change
	for i := range 50 {
		name := fmt.Sprint("f", i)
		plant(t, dir, name, "old")
		changes = append(changes, workspace.Change{Kind: workspace.Replace, Path: name, Data: []byte("new")})
	}
	before := tree(t, dir)
	w.OnSync((&watcher{dir: dir, fail: 40}).sync)
	require.ErrorContains(t, w.Batch(context.Background(), changes), "the disk is on fire")
	assert.Equal(t, before, tree(t, dir))
}

// If many files cannot be synced together, each is synced by itself.
func TestBatchWithAFailedSyncOfAll(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, workspace.Options{})
	var changes []workspace.Change
	for i := range 50 {
		changes = append(changes,
			workspace.Change{Kind: workspace.Create, Path: fmt.Sprint("f", i), Data: []byte("new")})
	}
	watch := &watcher{dir: dir}
	w.OnSync(watch.sync)
	w.OnSyncTogether(func([]*os.File) error { return errors.New("the disk is on fire") })
	require.NoError(t, w.Batch(context.Background(), changes))
	assert.Len(t, watch.seen, 50)
}
