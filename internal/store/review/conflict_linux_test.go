package review_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const some = "printf 'one\n' >a.txt; mkdir -p d/e; printf x >d/e/x; printf y >d/y; ln -s a.txt l"

// What others have changed since the view was made stays, and so does all else.
func TestConflicts(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	for name, c := range map[string]struct{ script, meanwhile string }{
		"written":                {"echo two >a.txt; echo n >n", "echo mine >a.txt"},
		"removed where changed":  {"rm a.txt; echo n >n", "echo mine >a.txt"},
		"changed where removed":  {"echo two >>a.txt; echo n >n", "rm a.txt"},
		"made by both":           {"echo two >n", "echo mine >n"},
		"a mode":                 {"echo two >a.txt", "chmod 600 a.txt"},
		"a link":                 {"ln -sf d l", "ln -sf nowhere l"},
		"a directory for a file": {"echo two >d/y", "rm -r d; echo mine >d"},
		"a link for a directory": {"echo two >d/y", "mv d f; ln -s f d"},
		"written, as long and as old as it was": {"echo two >a.txt; mkdir new",
			"cp -p a.txt ref; printf 'mix\\n' >a.txt; touch -r ref a.txt; rm ref"},
		"a link to where the directory is now": {"echo two >d/y; mkdir new", "mv d f; ln -s f d"},
		"a directory again":                    {"echo two >d/y; mkdir new", "cp -a d f; rm -r d; mv f d; echo z >d/y"},
		"a link on the way to a new file":      {"echo two >d/new", "mv d f; ln -s f d"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t)
			a.outside(some)
			changes := a.try(c.script)
			a.outside(c.meanwhile)
			before := tree(t, a.root)
			_, err := a.commit(changes)
			if name == "a link on the way to a new file" { // found when it is reached
				require.Error(t, err)
			} else {
				require.Equal(t, tool.Conflict, tool.CodeOf(err), "%v", err)
			}
			same(t, before, tree(t, a.root), name)
		})
	}
}

// A removed directory stays with what others have added to it since.
func TestAFileInWhatGoes(t *testing.T) {
	a := newArena(t)
	a.outside(some)
	changes := a.try("rm -r d; echo n >n")
	a.outside("echo mine >d/e/mine")
	left, err := a.commit(changes)
	require.NoError(t, err)
	assert.Equal(t, []string{"d/e", "d"}, left)
	assert.FileExists(t, filepath.Join(a.root, "d/e/mine"))
	assert.NoFileExists(t, filepath.Join(a.root, "d/y"))
}

// Read-only files are replaced as in a real call, with no effect on the modes of their other names.
func TestReadOnlyFiles(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	a := newArena(t)
	a.outside(some + "; chmod 444 a.txt; ln a.txt b.txt; echo q >c; chmod 400 c")
	before := tree(t, a.root)
	_, err := a.commit(a.try("sed -i s/one/two/ a.txt; echo new >n; mv n c"))
	require.NoError(t, err)
	for name, mode := range map[string]os.FileMode{"a.txt": 0o444, "b.txt": 0o444, "c": 0o644} {
		info, err := os.Stat(filepath.Join(a.root, name))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode(), name)
	}
	a.undo()
	same(t, before, tree(t, a.root), "undo")
}

// TestRaces commits while another process saves the same file repeatedly: its last save is in the file, or the
// undo store has it.
func TestRaces(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	count, limit := 200, 3*time.Second
	if text := os.Getenv("TOOLHOST_TEST_RACES"); text != "" {
		count, _ = strconv.Atoi(text)
		limit = time.Hour
	}
	a := newArena(t)
	path := filepath.Join(a.root, "a.txt")
	end, done, refused := time.Now().Add(limit), 0, 0
	for n := 0; n < count && time.Now().Before(end); n++ {
		require.NoError(t, os.WriteFile(path, []byte("base"), 0o644))
		changes := a.try("printf view >a.txt")
		mine := fmt.Sprintf("mine %d", n)
		var saved sync.WaitGroup
		saved.Go(func() {
			temp := path + ".mine"
			assert.NoError(t, os.WriteFile(temp, []byte(mine), 0o644))
			time.Sleep(time.Duration(n%40) * 50 * time.Microsecond)
			assert.NoError(t, os.Rename(temp, path))
		})
		_, err := a.commit(changes)
		saved.Wait()
		data, readErr := os.ReadFile(path)
		require.NoError(t, readErr)
		require.Equal(t, mine, string(data), "what somebody has saved is lost: %v", err)
		if err != nil {
			refused++
			require.Equal(t, tool.Conflict, tool.CodeOf(err), "%v", err)
		}
		done++
	}
	t.Logf("%d races, %d commits refused", done, refused)
}
