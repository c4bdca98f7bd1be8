package textedit

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

func TestDiff(t *testing.T) {
	for name, c := range map[string]struct{ oldName, newName, old, new, want string }{
		"equal": {"f", "f", "a\n", "a\n", ""},
		"changed": {"f", "f", "a\nb\nc\n", "a\nB\nc\n",
			"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		"created": {"", "f", "", "a\nb\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"created by name": {DevNull, "d/f", "", "a",
			"--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"},
		"deleted": {"f", DevNull, "a\n", "", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		"renamed": {"f", "g", "a\n", "b\n", "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"},
		"newline added at end": {"f", "f", "a", "a\n",
			"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"newline lost at end": {"f", "f", "a\n", "a",
			"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"no newline at the end": {"f", "f", "b\na", "c\na",
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-b\n+c\n a\n\\ No newline at end of file\n"},
		"binary":   {"f", "f", "a\x00", "b\x00", "Binary files a/f and b/f differ\n"},
		"absolute": {"/x/f", "/x/f", "a\n", "", "--- a/x/f\n+++ b/x/f\n@@ -1 +0,0 @@\n-a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, Diff(c.oldName, c.newName, []byte(c.old), []byte(c.new), 3))
		})
	}
}

func TestDiffShowsUTF16AsUTF8(t *testing.T) {
	old, new := encode16("ä\nb\n", binary.LittleEndian), encode16("ä\nc\n", binary.LittleEndian)
	assert.Equal(t, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n "+utf8BOM+"ä\n-b\n+c\n",
		Diff("f", "f", []byte(old), []byte(new), 3))
}

// unusual are file names that git quotes or marks. Linux allows all of them.
var unusual = []string{"plain", "a b", "tab\there", "new\nline", `quo"te`, `back\slash`, "ünï", "cafe\u0301",
	"\xff\xfe", "\x01\x7f\x1b", "日本 x", "d i r/s ub"}

func TestDiffNamesAreGits(t *testing.T) {
	dir := t.TempDir()
	for _, name := range unusual {
		for _, side := range []string{"x", "y"} {
			path := filepath.Join(dir, side, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(side+"\n"), 0o644))
		}
	}
	out := run(t, dir, nil, "git", "diff", "--no-index", "--no-color", "x", "y")
	for _, name := range unusual {
		header, _, _ := strings.Cut(Diff("x/"+name, "y/"+name, []byte("x\n"), []byte("y\n"), 3), "@@")
		assert.Contains(t, out, "\n"+header, "%q", name)
	}
}

// git and patch make the new files from our diffs.
func TestDiffApplies(t *testing.T) {
	testneed.NotShort(t, "edits large texts")
	pairs := append(randomPairs(7, 150, 40, 40), randomPairs(8, 20, 500, 10)...)
	for _, special := range []string{"", "\n", "a", "a\n", "a\r\n", "\r", "a\nb", "a\r\nb\nc\rd", "caf\xe9\n",
		utf8BOM + "a\n", "--- a\n+++ b\n", "@@ -1 +1 @@\n", "\\ No newline\n"} {
		pairs = append(pairs, pair{[]byte("x\n" + special), []byte(special)},
			pair{[]byte(special), []byte(special + "y")})
	}
	for name, argv := range map[string][]string{
		"git":   {"git", "apply", "-p1", "--whitespace=nowarn"},
		"patch": {"patch", "-p1", "--binary", "-s", "-E", "-f"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var all strings.Builder
			for i, p := range pairs {
				file := fmt.Sprintf("f%03d %s", i, []string{"plain", `quo"te`, "ünï"}[i%3])
				from := file
				if len(p.old) == 0 {
					from = DevNull
				} else {
					require.NoError(t, os.WriteFile(filepath.Join(dir, file), p.old, 0o644))
				}
				to := file
				if len(p.new) == 0 {
					to = DevNull
				}
				all.WriteString(Diff(from, to, p.old, p.new, 3))
			}
			run(t, dir, []byte(all.String()), argv...)
			for i, p := range pairs {
				file := fmt.Sprintf("f%03d %s", i, []string{"plain", `quo"te`, "ünï"}[i%3])
				data, err := os.ReadFile(filepath.Join(dir, file))
				if len(p.new) == 0 {
					require.ErrorIs(t, err, os.ErrNotExist)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, string(p.new), string(data), "pair %d", i)
			}
		})
	}
}

func TestDiffIsFastOnLargeFiles(t *testing.T) {
	testneed.NotShort(t, "edits large texts")
	line := "\tline %d of (x, y) { return }\n"
	var a, b strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&a, line, i)
		fmt.Fprintf(&b, line, i*7)
	}
	start := time.Now()
	small := Diff("f", "f", []byte(a.String()), []byte(strings.Replace(a.String(), "150000", "x", 1)), 3)
	assert.Equal(t, 2, strings.Count(small, "\n+")) // the header and the line
	Diff("f", "f", []byte(a.String()), []byte(b.String()), 3)
	assert.Less(t, time.Since(start), time.Minute)
}

// undo turns new into old by a diff: the simplest reader.
func undo(t *testing.T, diff string, new []byte) string {
	lines := strings.SplitAfter(string(new), "\n")
	var out strings.Builder
	at := 0
	last := byte(0)
	for _, line := range strings.SplitAfter(diff, "\n") {
		var from, count int
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			if out.Len() == 0 && at == 0 && last == 0 {
				continue
			}
		case strings.HasPrefix(line, "@@ "):
			_, spec, _ := strings.Cut(line, "+")
			spec, _, _ = strings.Cut(spec, " ")
			count = 1
			if n, _ := fmt.Sscanf(spec, "%d,%d", &from, &count); n == 0 {
				t.Fatalf("bad hunk %q", line)
			}
			if count > 0 {
				from--
			}
			for ; at < from; at++ {
				out.WriteString(lines[at])
			}
			last = '@'
			continue
		case line == "":
			continue
		}
		switch line[0] {
		case ' ':
			require.Equal(t, strings.TrimSuffix(lines[at], "\n"), strings.TrimSuffix(line[1:], "\n"))
			out.WriteString(line[1:])
			at++
		case '+':
			require.Equal(t, strings.TrimSuffix(lines[at], "\n"), strings.TrimSuffix(line[1:], "\n"))
			at++
		case '-':
			out.WriteString(line[1:])
		case '\\':
			if last != '+' {
				text := strings.TrimSuffix(out.String(), "\n")
				out.Reset()
				out.WriteString(text)
			}
		}
		last = line[0]
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nc\nd"))
	f.Add([]byte("\n\n\nx\n\n"), []byte("\n\nx\n\n\n"))
	f.Add([]byte(""), []byte("\\ No\n"))
	f.Add([]byte("--- x\n"), []byte("+++ x\n"))
	f.Fuzz(func(t *testing.T, old, new []byte) {
		if hasNUL(old) || hasNUL(new) || len(old) > 1 && old[0] >= 0xfe || len(new) > 1 && new[0] >= 0xfe {
			return
		}
		diff := Diff("f", "f", old, new, 3)
		require.Equal(t, string(old) == string(new), diff == "")
		if diff != "" {
			require.Equal(t, string(old), undo(t, diff, new))
		}
	})
}
