package patch_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/patch"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// program runs the real patch -p1 and returns the files after it, and false if it fails.
func program(t testing.TB, files map[string]string, diff string) (map[string]string, string, bool) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644))
	}
	cmd := exec.Command(testneed.Program(t, "patch"), "-p1", "-f", "--no-backup-if-mismatch", "-r", "-")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.Stdin = strings.NewReader(diff)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return out, said.String(), err == nil
}

func ours(files map[string]string, diff string) (map[string]string, error) {
	out, _, err := oursPlaced(files, diff)
	return out, err
}

func oursPlaced(files map[string]string, diff string) (map[string]string, []patch.Placement, error) {
	set, err := patch.Parse([]byte(diff))
	if err != nil {
		return nil, nil, err
	}
	changes, err := patch.Apply(set, func(path string) ([]byte, fs.FileMode, error) {
		data, ok := files[path]
		if !ok {
			return nil, 0, fs.ErrNotExist
		}
		return []byte(data), 0o644, nil
	})
	if err != nil {
		return nil, nil, err
	}
	var placed []patch.Placement
	out := map[string]string{}
	for name, data := range files {
		out[name] = data
	}
	for _, c := range changes {
		placed = append(placed, c.Placed...)
		if c.Kind == patch.Delete {
			delete(out, c.Path)
		} else if c.Kind == patch.Rename {
			delete(out, c.From)
		}
	}
	for _, c := range changes {
		if c.Kind != patch.Delete {
			out[c.Path] = string(c.Data)
		}
	}
	return out, placed, nil
}

// few returns lines with few variants, so that hunks fit at several places.
func few(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		if r.IntN(3) > 0 {
			lines[i] = fmt.Sprintf("line %d", r.IntN(60))
		} else {
			lines[i] = []string{"", "}", "{", "a", "\treturn"}[r.IntN(5)]
		}
	}
	return lines
}

func disturb(r *rand.Rand, lines []string, edits int) []string {
	lines = append([]string(nil), lines...)
	for range edits {
		at := r.IntN(len(lines) + 1)
		n := min(r.IntN(4), len(lines)-at)
		lines = append(lines[:at:at], append(few(r, r.IntN(4)), lines[at+n:]...)...)
	}
	return lines
}

func text(r *rand.Rand, lines []string) string {
	s := strings.Join(lines, "\n")
	if len(lines) > 0 && r.IntN(6) > 0 {
		s += "\n"
	}
	return s
}

// spoil damages a diff as transport does.
func spoil(r *rand.Rand, diff string) string {
	switch r.IntN(9) {
	case 0:
		return strings.NewReplacer("--- a/f", "--- a/f\t2024-01-01 10:00:00.000000000 +0000", "+++ b/f",
			"+++ b/f\t2024-01-01 10:00:01.000000000 +0000").Replace(diff)
	case 1:
		return "Subject: a change\n\nSome words.\n---\n f | 2 +-\n\n" + diff + "-- \n2.39.5\n"
	case 2:
		return strings.ReplaceAll(diff, "\n", "\r\n")
	case 3:
		return strings.ReplaceAll(diff, "\n \n", "\n\n")
	case 4:
		return strings.TrimSuffix(diff, "\n")
	case 5:
		if strings.Contains(diff, "\n\\ No") {
			return diff // the program overlooks the indented mark and adds a newline
		}
		return "  " + strings.ReplaceAll(strings.TrimSuffix(diff, "\n"), "\n", "\n  ") + "\n"
	case 6:
		return "diff --git a/f b/f\nindex 1234567..89abcde 100644\n" + diff
	}
	return diff
}

// TestAtLeastAsTolerantAsTheProgram applies diffs to files that have changed
// since: whatever the program patch can apply, we apply with the same outcome.
func TestAtLeastAsTolerantAsTheProgram(t *testing.T) {
	testneed.NotShort(t, "compares with another program for seconds")
	testneed.Program(t, "patch")
	r := rand.New(rand.NewPCG(5, 6))
	const cases = 600
	theirs, more := 0, 0
	for i := range cases {
		base := few(r, r.IntN(40))
		old, new := text(r, base), text(r, disturb(r, base, 1+r.IntN(3)))
		target := text(r, disturb(r, base, r.IntN(3)))
		diff := textedit.Diff("f", "f", []byte(old), []byte(new), r.IntN(4))
		if diff == "" {
			continue
		}
		diff = spoil(r, diff)
		files := map[string]string{"f": target}
		want, said, ok := program(t, files, diff)
		got, placed, err := oursPlaced(files, diff)
		if !ok {
			if err == nil {
				more++
			}
			continue
		}
		theirs++
		note := fmt.Sprintf("case %d\ntarget: %q\n%s\npatch: %s", i, target, diff, said)
		require.NoError(t, err, note)
		if strings.Contains(said, "middle of line") && strings.Contains(said, "succeeded") {
			continue // it takes a last line without an ending for a different one
		}
		if slices.ContainsFunc(placed, func(p patch.Placement) bool { return p.Endings }) {
			// Here the program gave up a line of context for its ending.
			require.Contains(t, said, "fuzz", note)
			continue
		}
		require.Equal(t, want, got, note)
	}
	t.Logf("patch applies %d, we apply %d more", theirs, more)
	require.Greater(t, theirs, 200)
}
