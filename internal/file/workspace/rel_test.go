package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

func TestRel(t *testing.T) {
	a := newArena(t)
	w := a.open(t, workspace.Options{})
	for path, want := range map[string]string{
		".": ".", "./": ".", "a": "a", "a/": "a", "./a//b/../c": "a/c", "a/..": ".", "../ws/a": "a", "..a": "..a",
		"a/...": "a/...",
		a.ws:    ".", a.ws + "/": ".", a.ws + "/a/./b": "a/b", a.ws + "/../ws/a": "a", "a b": "a b", "a\nb": "a\nb",
		"\xff": "\xff",
	} {
		got, err := w.Rel(path)
		require.NoError(t, err, "%q", path)
		assert.Equal(t, want, got, "%q", path)
	}
	for path, code := range map[string]tool.Code{
		"": tool.InvalidArgument, "\x00": tool.InvalidArgument, "..": tool.PathOutsideWorkspace,
		"a/../..": tool.PathOutsideWorkspace,
		"../wsx":  tool.PathOutsideWorkspace, a.ws + "x": tool.PathOutsideWorkspace, "/": tool.PathOutsideWorkspace,
		a.base: tool.PathOutsideWorkspace,
	} {
		_, err := w.Rel(path)
		requireCode(t, code, err)
	}
}

// The root and paths may be named through a symlink.
func TestRootThroughSymlink(t *testing.T) {
	a := newArena(t)
	a.link(t, a.ws, "../alias")
	w := open(t, filepath.Join(a.base, "alias"), workspace.Options{})
	assert.Equal(t, a.ws, w.Root())
	for _, path := range []string{filepath.Join(a.base, "alias/in.txt"), filepath.Join(a.ws, "in.txt")} {
		rel, err := w.Rel(path)
		require.NoError(t, err)
		assert.Equal(t, "in.txt", rel)
	}
}

func FuzzRel(f *testing.F) {
	for _, seed := range []string{"a", "../x", "/etc/passwd", "a/../../b", "\x00", "", "./.", "a//b/", "..\\x", "C:\\x",
		"\xff/..", "link/../x", "up/outside"} {
		f.Add(seed)
	}
	a := newArena(f)
	require.NoError(f, os.Symlink("..", filepath.Join(a.ws, "up")))
	require.NoError(f, os.Symlink("d", filepath.Join(a.ws, "link")))
	w := a.open(f, workspace.Options{})
	f.Fuzz(func(t *testing.T, path string) {
		rel, err := w.Rel(path)
		if err == nil {
			if !filepath.IsLocal(rel) || strings.ContainsRune(rel, 0) {
				t.Fatalf("Rel(%q) = %q", path, rel)
			}
			again, err := w.Rel(rel)
			if err != nil || again != rel {
				t.Fatalf("Rel(%q) = %q, %v", rel, again, err)
			}
		} else if code := tool.CodeOf(err); code != tool.PathOutsideWorkspace && code != tool.InvalidArgument {
			t.Fatalf("Rel(%q): %v", path, err)
		}
		abs, err := w.Check(path, workspace.Write)
		if err == nil && abs != a.ws && !strings.HasPrefix(abs, a.ws+"/") {
			t.Fatalf("Check(%q) = %q", path, abs)
		}
		var e *tool.Error
		if err != nil && (!errors.As(err, &e) || e.Code == tool.Internal || e.Suggestion == "") {
			t.Fatalf("Check(%q): %#v", path, err)
		}
		data, _, _ := w.ReadFile(path, 0)
		if strings.Contains(string(data), secret) {
			t.Fatalf("ReadFile(%q) leaks", path)
		}
	})
}
