package agentbench_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/edithistory"
	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

// unprotected is a fixture in which all files can be written, for histories with protected ones.
func unprotected(t testing.TB) *fixture {
	return newFixtureOf(t, workspace.Options{Symlinks: workspace.Block, Protect: []string{}}, agentbench.Deps{})
}

// TestReplayGeneratedHistories applies git's diff of each commit to a workspace
// and compares with git's tree: random edits, renames, copies, deletions,
// modes, missing newlines, CRLF, unusual names.
func TestReplayGeneratedHistories(t *testing.T) {
	testneed.NotShort(t, "replays generated histories for seconds")
	for seed := range uint64(3) {
		f := unprotected(t)
		for i, c := range edithistory.Generate(t, edithistory.Options{Seed: 100 + seed, Commits: 60, Tree: true}) {
			if len(c.Patch) == 0 {
				continue
			}
			note := fmt.Sprintf("seed %d, commit %d\n%s", seed, i, c.Patch)
			require.True(t, utf8.Valid(c.Patch), note)
			e := f.call(t, "apply_patch", diffOf(string(c.Patch)))
			require.Equal(t, "success", e.Status, "%+v\n%s", e.Error, note)
			require.EqualValues(t, len(c.Patch), e.Data["patch_size_bytes"])
			want := map[string]string{}
			for name, file := range c.After {
				want[name] = fmt.Sprintf("%t:%s", file.Mode == "100755", file.Data)
			}
			require.Equal(t, want, f.tree(t), note)
		}
	}
}

// TestReplayThisRepository applies the newest commits of this repository; all
// of them with make long.
func TestReplayThisRepository(t *testing.T) {
	testneed.NotShort(t, "needs the history of this repository")
	dir := "."
	try := func(args ...string) (string, error) {
		out, err := testgit.Command(t, dir, append([]string{"-c", "safe.directory=*"}, args...)...).Output()
		return string(out), err
	}
	run := func(args ...string) string {
		out, err := try(args...)
		require.NoError(t, err, "git %v", args)
		return out
	}
	top, err := try("rev-parse", "--show-toplevel")
	if err != nil {
		testneed.Missing(t, "this is no git repository")
	}
	dir = strings.TrimSpace(top)
	if run("rev-parse", "--is-shallow-repository") == "true\n" {
		testneed.Missing(t, "the repository is a shallow clone")
	}
	commits := strings.Fields(run("rev-list", "--reverse", "--first-parent", "HEAD"))
	f, parent := unprotected(t), strings.TrimSpace(run("hash-object", "-t", "tree", os.DevNull))
	if newest := 25; len(commits) > newest && !testneed.Long() {
		parent, commits = commits[len(commits)-newest-1], commits[len(commits)-newest:]
		extract(t, f.root, run("archive", "--format=tar", parent))
	}
	applied, passed := 0, 0
	for i, id := range commits {
		diff := run("diff", "--no-ext-diff", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "-M", parent, id)
		parent = id
		switch {
		case diff == "":
			continue
		case !carried(diff):
			passed++
			f = unprotected(t)
			extract(t, f.root, run("archive", "--format=tar", id))
			continue
		}
		e := f.call(t, "apply_patch", diffOf(diff))
		require.Equal(t, "success", e.Status, "commit %s: %+v", id, e.Error)
		applied++
		if i%10 == 0 || i == len(commits)-1 {
			requireGitTree(t, f, run("archive", "--format=tar", id))
		}
	}
	t.Logf("%d commits applied, %d passed over: binary files, symbolic links or bytes that are not UTF-8", applied,
		passed)
	require.Positive(t, applied)
}

// carried reports whether JSON can carry a diff.
func carried(diff string) bool {
	for _, mark := range []string{"\nBinary files ", "\nGIT binary patch", "\nnew file mode 120000",
		"\nold mode 120000", "\ndeleted file mode 120000"} {
		if strings.Contains(diff, mark) {
			return false
		}
	}
	return utf8.ValidString(diff)
}

func extract(t *testing.T, dir, archive string) {
	t.Helper()
	cmd := exec.Command(testneed.Program(t, "tar"), "-x", "-C", dir)
	cmd.Stdin = strings.NewReader(archive)
	require.NoError(t, cmd.Run())
}

func requireGitTree(t *testing.T, f *fixture, archive string) {
	t.Helper()
	dir := t.TempDir()
	extract(t, dir, archive)
	want := (&fixture{root: dir}).tree(t)
	got := f.tree(t)
	require.Len(t, got, len(want))
	for name, content := range want {
		if got[name] != content {
			t.Fatalf("%s differs from git's", name)
		}
	}
}

func program(t testing.TB, dir, diff string) (string, bool) {
	cmd := exec.Command(testneed.Program(t, "patch"), "-p1", "-f", "--no-backup-if-mismatch", "-r", "-")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.Stdin = strings.NewReader(diff)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err == nil
}

// TestAtLeastAsTolerantAsPatch applies diffs of several files to files that
// have changed since. What the program patch can apply, the tool applies with
// the same outcome; what the tool refuses, it leaves untouched.
func TestAtLeastAsTolerantAsPatch(t *testing.T) {
	testneed.NotShort(t, "compares with another program")
	testneed.Program(t, "patch")
	r := rand.New(rand.NewPCG(9, 9))
	theirs, more := 0, 0
	for i := range 150 {
		var diff strings.Builder
		f, g := newFixture(t), newFixture(t)
		for n := range 1 + r.IntN(3) {
			name := fmt.Sprintf("d%d/f%d", n%2, n)
			base := randomLines(r, 3+r.IntN(30))
			target := strings.Join(disturbed(r, base, r.IntN(3)), "")
			f.write(t, name, target)
			g.write(t, name, target)
			diff.WriteString(textedit.Diff(name, name, []byte(strings.Join(base, "")),
				[]byte(strings.Join(disturbed(r, base, 1+r.IntN(3)), "")), 3))
		}
		if diff.Len() == 0 {
			continue
		}
		before := f.tree(t)
		said, ok := program(t, g.root, diff.String())
		e := f.call(t, "apply_patch", diffOf(diff.String()))
		note := fmt.Sprintf("case %d\n%s\n%s\n%+v", i, diff.String(), said, e.Error)
		switch {
		case ok:
			theirs++
			require.Equal(t, "success", e.Status, note)
			require.Equal(t, g.tree(t), f.tree(t), note)
		case e.Status == "success":
			more++
		default:
			require.Equal(t, before, f.tree(t), note)
		}
	}
	t.Logf("patch applies %d, the tool %d more", theirs, more)
	require.Greater(t, theirs, 50)
}

func randomLines(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = []string{"\n", "}\n", "{\n", "\treturn\n"}[r.IntN(4)]
		if r.IntN(3) > 0 {
			lines[i] = fmt.Sprintf("line %d\n", r.IntN(60))
		}
	}
	return lines
}

func disturbed(r *rand.Rand, lines []string, edits int) []string {
	lines = append([]string(nil), lines...)
	for range edits {
		at := r.IntN(len(lines) + 1)
		n := min(r.IntN(4), len(lines)-at)
		lines = append(lines[:at:at], append(randomLines(r, r.IntN(4)), lines[at+n:]...)...)
	}
	return lines
}

// TestTolerance has models' usual mistakes.
func TestTolerance(t *testing.T) {
	const abc = "a\nb\nc\nd\ne\nf\ng\n"
	for name, c := range map[string]struct{ file, diff, want string }{
		"offset": {"x\ny\n" + abc, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
			"x\ny\na\nB\nc\nd\ne\nf\ng\n"},
		"fuzz": {"A\nb\nc\nd\ne\nf\n", "--- a/f\n+++ b/f\n@@ -1,6 +1,7 @@\n a\n b\n c\n+X\n d\n e\n f\n",
			"A\nb\nc\nX\nd\ne\nf\n"},
		"counts too large": {abc, "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n", "a\nB\nc\nd\ne\nf\ng\n"},
		"counts too small": {abc, "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n a\n-b\n+B\n c\n", "a\nB\nc\nd\ne\nf\ng\n"},
		"no prefixes":      {abc, "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "A\nb\nc\nd\ne\nf\ng\n"},
		"fenced": {abc, "```diff\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n```\n",
			"A\nb\nc\nd\ne\nf\ng\n"},
		"prose around": {abc, "Here it is:\n\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\nDone.\n",
			"A\nb\nc\nd\ne\nf\ng\n"},
		"no last newline": {abc, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b", "A\nb\nc\nd\ne\nf\ng\n"},
		"CRLF patch": {abc, "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+A\r\n b\r\n",
			"A\nb\nc\nd\ne\nf\ng\n"},
		"LF for a CRLF one": {"a\r\nb\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "A\r\nb\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(t, "f", c.file)
			f.succeeds(t, "apply_patch", diffOf(c.diff))
			require.Equal(t, c.want, f.read(t, "f"))
			entries, err := os.ReadDir(filepath.Join(f.root))
			require.NoError(t, err)
			require.Len(t, entries, 2, "the file and .agent: no .orig, no .rej")
		})
	}
}
