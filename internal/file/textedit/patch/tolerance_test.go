package patch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

const abc = "a\nb\nc\nd\ne\nf\ng\n"

// handmade are patches as people and models write them.
var handmade = map[string]struct {
	files map[string]string
	diff  string
	want  map[string]string
	// ours is set if the program patch refuses the patch or gets it wrong.
	ours bool
}{
	"plain": {map[string]string{"f": abc}, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
		map[string]string{"f": "a\nB\nc\nd\ne\nf\ng\n"}, false},
	"text around": {map[string]string{"f": abc},
		"Hello,\n\nhere it is:\n\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\nThat is all.\n",
		map[string]string{"f": "a\nB\nc\nd\ne\nf\ng\n"}, false},
	"fenced": {map[string]string{"f": abc},
		"```diff\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n```\n",
		map[string]string{"f": "a\nB\nc\nd\ne\nf\ng\n"}, false},
	"offset": {map[string]string{"f": "x\ny\n" + abc},
		"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", map[string]string{"f": "x\ny\na\nB\nc\nd\ne\nf\ng\n"},
		false},
	"offset backwards": {map[string]string{"f": abc}, "--- a/f\n+++ b/f\n@@ -40,3 +40,3 @@\n b\n-c\n+C\n d\n",
		map[string]string{"f": "a\nb\nC\nd\ne\nf\ng\n"}, false},
	"fuzz 1": {map[string]string{"f": "A\nb\nc\nd\ne\nf\n"},
		"--- a/f\n+++ b/f\n@@ -1,6 +1,7 @@\n a\n b\n c\n+X\n d\n e\n f\n",
		map[string]string{"f": "A\nb\nc\nX\nd\ne\nf\n"}, false},
	"fuzz 2": {map[string]string{"f": "A\nB\nc\nd\nE\nF\n"},
		"--- a/f\n+++ b/f\n@@ -1,6 +1,7 @@\n a\n b\n c\n+X\n d\n e\n f\n",
		map[string]string{"f": "A\nB\nc\nX\nd\nE\nF\n"}, false},
	"two hunks that share": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n d\n@@ -3,4 +3,4 @@\n c\n d\n-e\n+E\n f\n",
		map[string]string{"f": "a\nB\nc\nd\nE\nf\ng\n"}, false},
	"second hunk moved": {map[string]string{"f": "x\n" + abc},
		"--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n+a2\n b\n c\n@@ -6,2 +7,2 @@\n f\n-g\n+G\n",
		map[string]string{"f": "x\na\na2\nb\nc\nd\ne\nf\nG\n"}, false},
	"no context": {map[string]string{"f": abc}, "--- a/f\n+++ b/f\n@@ -3 +3 @@\n-c\n+C\n",
		map[string]string{"f": "a\nb\nC\nd\ne\nf\ng\n"}, false},
	"only added, no context": {map[string]string{"f": abc}, "--- a/f\n+++ b/f\n@@ -3,0 +4,2 @@\n+x\n+y\n",
		map[string]string{"f": "a\nb\nc\nx\ny\nd\ne\nf\ng\n"}, false},
	"blank context stripped": {map[string]string{"f": "a\n\nb\n\nc\n"},
		"--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n a\n\n-b\n+B\n\n c\n", map[string]string{"f": "a\n\nB\n\nc\n"}, false},
	"tab context stripped": {map[string]string{"f": "{\n\ta\n\tb\n}\n"},
		"--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n {\n\ta\n-\tb\n+\tB\n }\n", map[string]string{"f": "{\n\ta\n\tB\n}\n"},
		false},
	"indented": {map[string]string{"f": abc},
		"    --- a/f\n    +++ b/f\n    @@ -1,3 +1,3 @@\n     a\n    -b\n    +B\n     c\n",
		map[string]string{"f": "a\nB\nc\nd\ne\nf\ng\n"}, false},
	"carriage returns added": {map[string]string{"f": abc},
		"--- a/f\r\n+++ b/f\r\n@@ -1,3 +1,3 @@\r\n a\r\n-b\r\n+B\r\n c\r\n",
		map[string]string{"f": "a\nB\nc\nd\ne\nf\ng\n"}, false},
	"CRLF exactly": {map[string]string{"f": "a\r\nb\r\nc\r\n"},
		"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\r\n", map[string]string{"f": "a\r\nB\r\nc\r\n"},
		false},
	"no newline at end": {map[string]string{"f": "a\nb"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n",
		map[string]string{"f": "a\nB"}, false},
	"newline added at end": {map[string]string{"f": "a\nb"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
		map[string]string{"f": "a\nb\n"}, false},
	"time stamps": {map[string]string{"d/f": abc},
		"--- x/d/f\t2020-01-01 00:00:00.000000000 +0000\n+++ y/d/f\t2020-01-02 00:00:00.000000000 +0000\n" +
			"@@ -1,2 +1,2 @@\n-a\n+A\n b\n", map[string]string{"d/f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"time stamps, tab lost": {map[string]string{"d/f": abc},
		"--- x/d/f 2020-01-01 00:00:00.000000000 +0000\n+++ y/d/f 2020-01-02 00:00:00.000000000 +0000\n" +
			"@@ -1,2 +1,2 @@\n-a\n+A\n b\n", map[string]string{"d/f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"created": {map[string]string{}, "--- /dev/null\n+++ b/d/new\n@@ -0,0 +1,2 @@\n+x\n+y\n",
		map[string]string{"d/new": "x\ny\n"}, false},
	"created by diff -N": {map[string]string{},
		"diff -ruN old/d/new new/d/new\n--- old/d/new\t1970-01-01 00:00:00.000000000 +0000\n" +
			"+++ new/d/new\t2020-01-01 00:00:00.000000000 +0000\n@@ -0,0 +1 @@\n+x\n", map[string]string{"d/new": "x\n"}, false},
	"created, no stamps": {map[string]string{}, "--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+x\n",
		map[string]string{"new": "x\n"}, false},
	"created over an empty": {map[string]string{"new": ""}, "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n",
		map[string]string{"new": "x\n"}, false},
	"deleted": {map[string]string{"f": "x\n", "g": "y"}, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
		map[string]string{"g": "y"}, false},
	"deleted by diff -N": {map[string]string{"f": "x\n"},
		"--- old/f\t2020-01-01 00:00:00.000000000 +0000\n+++ new/f\t1970-01-01 00:00:00.000000000 +0000\n@@ -1 +0,0 @@\n-x\n",
		map[string]string{}, false},
	"emptied": {map[string]string{"f": "x\n"}, "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-x\n",
		map[string]string{"f": ""}, false},
	"backup name": {map[string]string{"d/f": abc},
		"--- a/d/f.orig\n+++ b/d/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", map[string]string{"d/f": "A\nb\nc\nd\ne\nf\ng\n"},
		false},
	"same file twice": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-A\n+AA\n b\n",
		map[string]string{"f": "AA\nb\nc\nd\ne\nf\ng\n"}, false},
	"lines like headers": {map[string]string{"f": "-- x\ny\n"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- x\n+++ z\n y\n", map[string]string{"f": "++ z\ny\n"}, false},
	"quoted name": {map[string]string{"ü \"x\"": abc},
		"--- \"a/\\303\\274 \\\"x\\\"\"\n+++ \"b/\\303\\274 \\\"x\\\"\"\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
		map[string]string{"ü \"x\"": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"name with blanks": {map[string]string{"a b": abc}, "--- a/a b\t\n+++ b/a b\t\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
		map[string]string{"a b": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"start of file only": {map[string]string{"f": "a\nb\na\nb\n"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n+x\n a\n b\n", map[string]string{"f": "x\na\nb\na\nb\n"}, false},
	"end of file only": {map[string]string{"f": "a\nb\na\nb\n"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n b\n+x\n", map[string]string{"f": "a\nb\na\nb\nx\n"}, false},
	"a signature": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n-- \n2.39.5\n\n",
		map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"a signature of another program": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n-- \ncgit v1.2.1\n\n",
		map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"a signature without text": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n-- \n", map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"counts wrong, a signature": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-a\n+A\n b\n-- \ncgit v1.2.1\n", map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"},
		true},
	// Directly after a hunk, without an empty line, it is a line of it: models often count wrong, so the
	// counts do not tell.
	"prose behind": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\n+1 from me\n", map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"prose right behind": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n+1 from me\n", map[string]string{"f": "A\nb\n1 from me\nc\nd\ne\nf\ng\n"}, true},
	"empty lines between": {map[string]string{"f": "a\n", "g": "b\n"},
		"\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n\n\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-b\n+B\n\n",
		map[string]string{"f": "A\n", "g": "B\n"}, false},
	"git rename": {map[string]string{"f": abc},
		"diff --git a/f b/d/g\nsimilarity index 80%\nrename from f\nrename to d/g\n--- a/f\n+++ b/d/g\n" +
			"@@ -1,2 +1,2 @@\n-a\n+A\n b\n", map[string]string{"d/g": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"git copy": {map[string]string{"f": abc},
		"diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n", map[string]string{"f": abc, "g": abc},
		false},
	"git swap": {map[string]string{"f": "1\n", "g": "2\n"},
		"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\ndiff --git a/g b/f\n" +
			"similarity index 100%\nrename from g\nrename to f\n", map[string]string{"f": "2\n", "g": "1\n"}, false},
	"git empty file": {map[string]string{},
		"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n", map[string]string{"e": ""}, false},
	"git empty file deleted": {map[string]string{"e": ""},
		"diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n", map[string]string{}, false},
	"git log": {map[string]string{"f": abc},
		"commit 1234\nAuthor: A <a@example.com>\n\n    Subject\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n" +
			"+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\ncommit 2345\n\n    - a point\n",
		map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
	"mnemonic prefixes": {map[string]string{"f": abc},
		"diff --git i/f w/f\nindex 1..2 100644\n--- i/f\n+++ w/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
		map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"}, false},

	"counts too large": {map[string]string{"src/main.py": "def add(a, b):\n    return a - b\n"},
		"--- a/src/main.py\n+++ b/src/main.py\n@@ -1,4 +1,4 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n",
		map[string]string{"src/main.py": "def add(a, b):\n    return a + b\n"}, false},
	"counts too small": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n c\n d\n-e\n+E\n f\n",
		map[string]string{"f": "a\nB\nc\nd\nE\nf\ng\n"}, true},
	"counts too small before blank": {map[string]string{"f": "a\nb\n\nc\n"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n-c\n+C\n", map[string]string{"f": "a\nB\n\nC\n"}, true},
	"counts too large, two hunks": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-a\n+A\n b\n@@ -5,9 +5,9 @@\n e\n-f\n+F\n",
		map[string]string{"f": "A\nb\nc\nd\ne\nF\ng\n"}, true},
	"counts too large, two files": {map[string]string{"f": "a\nb\nc\n", "g": "x\ny\n"},
		"--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n-x\n+X\n y\n",
		map[string]string{"f": "a\nB\nc\n", "g": "X\ny\n"}, true},
	"counts wrong, git signature": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-a\n+A\n b\n-- \n2.39.5\n", map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"},
		true},
	"no prefixes": {map[string]string{"src/main.py": abc},
		"--- src/main.py\n+++ src/main.py\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
		map[string]string{"src/main.py": "A\nb\nc\nd\ne\nf\ng\n"}, true},
	"no prefixes at the top": {map[string]string{"main.py": abc},
		"--- main.py\n+++ main.py\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
		map[string]string{"main.py": "A\nb\nc\nd\ne\nf\ng\n"}, true},
	"no prefixes, created": {map[string]string{}, "--- /dev/null\n+++ src/new.py\n@@ -0,0 +1 @@\n+x\n",
		map[string]string{"src/new.py": "x\n"}, true},
	"no prefixes, git": {map[string]string{"b/f": abc, "f": abc},
		"diff --git b/f b/f\nindex 1..2 100644\n--- b/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
		map[string]string{"b/f": "A\nb\nc\nd\ne\nf\ng\n", "f": abc}, true},
	"a directory named a": {map[string]string{"a/f": abc}, "--- a/f\n+++ a/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n",
		map[string]string{"a/f": "A\nb\nc\nd\ne\nf\ng\n"}, true},
	"LF patch for a CRLF file": {map[string]string{"f": "a\r\nb\r\nc\r\n"},
		"--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n", map[string]string{"f": "a\r\nB\r\nB2\r\nc\r\n"},
		true},
	"CRLF body for an LF file": {map[string]string{"f": "a\nb\nc\n"},
		"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\r\n", map[string]string{"f": "a\nB\nc\n"}, true},
	"all CRLF for a CRLF file": {map[string]string{"f": "a\r\nb\r\n"},
		"--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n", map[string]string{"f": "a\r\nB\r\n"}, true},
	"only added, to a CRLF file": {map[string]string{"f": "a\r\nb\r\n"}, "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+x\n",
		map[string]string{"f": "a\r\nx\r\nb\r\n"}, true},
	"behind the end of a CRLF file": {map[string]string{"f": "a\r\nb"}, "--- a/f\n+++ b/f\n@@ -2 +2,2 @@\n b\n+x\n",
		map[string]string{"f": "a\r\nb\r\nx\r\n"}, true},
	"LF lines between those of a CRLF file": {map[string]string{"f": "a\r\nb\r\n"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\r\n+x\n b\r\n", map[string]string{"f": "a\r\nx\nb\r\n"}, false},
	"CRLF lines added to an LF file": {map[string]string{"f": "a\nb\n"}, "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+x\r\n",
		map[string]string{"f": "a\nx\r\nb\n"}, false},
	"only added, to a file of both endings": {map[string]string{"f": "a\r\nb\n"}, "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+x\n",
		map[string]string{"f": "a\r\nx\nb\n"}, false},
	"file lacks the last newline": {map[string]string{"f": "a\nb"},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n b\n+c\n", map[string]string{"f": "a\nb\nc\n"}, false},
	"empty line between hunks": {map[string]string{"f": abc},
		"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\n@@ -6,2 +6,2 @@\n f\n-g\n+G\n",
		map[string]string{"f": "A\nb\nc\nd\ne\nf\nG\n"}, true},
	"counts of nothing, a new file": {map[string]string{}, "--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+x\n+y\n",
		map[string]string{"new": "x\ny\n"}, true},
	"last newline of the patch lost": {map[string]string{"f": abc}, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b",
		map[string]string{"f": "A\nb\nc\nd\ne\nf\ng\n"}, false},
}

// TestHandmade expects what the program patch makes or, if it cannot apply the
// patch, what its author meant.
func TestHandmade(t *testing.T) {
	for name, c := range handmade {
		t.Run(name, func(t *testing.T) {
			got, err := ours(c.files, c.diff)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			if _, err := exec.LookPath("patch"); err != nil {
				testneed.Missing(t, "the program patch is not installed")
			}
			out, said, ok := program(t, c.files, c.diff)
			if c.ours {
				assert.False(t, ok && assert.ObjectsAreEqual(c.want, out), "the program does so, too: %s", said)
			} else if assert.True(t, ok, said) {
				assert.Equal(t, c.want, out, said)
			}
		})
	}
}

// TestGNUDiff applies the output of diff -ruN.
func TestGNUDiff(t *testing.T) {
	dir := t.TempDir()
	trees := map[string]map[string]string{
		"old": {"same": "x\n", "changed": abc, "gone": "1\n2\n", "d/deep": "a\nb"},
		"new": {"same": "x\n", "changed": strings.Replace(abc, "d", "D", 1), "fresh": "n\n", "d/deep": "a\nB"},
	}
	for side, files := range trees {
		for name, data := range files {
			path := filepath.Join(dir, side, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
		}
	}
	cmd := exec.Command(testneed.Program(t, "diff"), "-ruN", "old", "new")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	out, _ := cmd.Output()
	require.NotEmpty(t, out)
	got, err := ours(trees["old"], string(out))
	require.NoError(t, err)
	assert.Equal(t, trees["new"], got)
}
