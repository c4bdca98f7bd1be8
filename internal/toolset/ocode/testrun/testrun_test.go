package testrun_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
	"github.com/toolhost/toolhost/internal/toolset/ocode/testrun"
)

// project copies a directory of testdata into a workspace. The ending .txt,
// which hides files from the Go tool, is removed.
func project(t *testing.T, from string) (*testrun.Runner, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	if from != "" {
		require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", from))))
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if to, ok := strings.CutSuffix(path, ".txt"); ok {
			return os.Rename(path, to)
		}
		return err
	}))
	return runner(t, dir), dir
}

func runner(t *testing.T, dir string) *testrun.Runner {
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	return testrun.New(ws, testrun.Options{Timeout: 2 * time.Minute})
}

func run(t *testing.T, r *testrun.Runner, dir string, request testrun.Request) *testrun.Report {
	t.Helper()
	report, err := r.Run(context.Background(), request, filepath.Join(dir, ".agent", "runs"), nil)
	require.NoError(t, err)
	left, err := os.ReadDir(filepath.Join(dir, ".agent", "runs"))
	require.NoError(t, err)
	assert.Empty(t, left, "reports are removed once they are read")
	return report
}

// counts returns passed, failed, skipped.
func counts(r *testrun.Report) [3]int { return [3]int{r.Passed, r.Failed, r.Skipped} }

func names(r *testrun.Report) []string {
	var list []string
	for _, f := range r.Failures {
		list = append(list, f.Name)
	}
	return list
}

func TestGo(t *testing.T) {
	r, dir := project(t, "go")
	report := run(t, r, dir, testrun.Request{})
	assert.Equal(t, testrun.Go, report.Framework, "found by go.mod")
	assert.Equal(t, [3]int{2, 1, 1}, counts(report), report.Output)
	require.Len(t, report.Failures, 1)
	f := report.Failures[0]
	assert.Equal(t, "example.org/sum.TestWrong/sub", f.Name)
	assert.Equal(t, "sum_test.go", f.File)
	assert.Equal(t, 17, f.Line)
	assert.Contains(t, f.Message, "Sum(1, 1) = 2, want 3")
	assert.False(t, report.OK())
	assert.Contains(t, report.Text(false), "go: 2 passed, 1 failed, 1 skipped in ")
	assert.Contains(t, report.Text(false), "FAILED example.org/sum.TestWrong/sub (sum_test.go:17)")
}

func TestGoPatternAndCoverage(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	r, dir := project(t, "go")
	var mu sync.Mutex
	var lines []string
	report, err := r.Run(context.Background(), testrun.Request{Path: "TestAdds", Coverage: true},
		filepath.Join(dir, "out"), func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
		})
	require.NoError(t, err)
	assert.Equal(t, [3]int{2, 0, 0}, counts(report))
	assert.True(t, report.OK())
	require.NotNil(t, report.Coverage)
	assert.Equal(t, testrun.Coverage{Percent: 66.7, Of: "statements"}, *report.Coverage, "two statements of three")
	assert.Empty(t, report.Warnings, "there is one package")
	assert.Contains(t, lines, "=== RUN   TestAdds/one", "lines come as they are printed")
}

func TestGoThatDoesNotBuild(t *testing.T) {
	r, dir := project(t, "go")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sum.go"),
		[]byte("package sum\n\nfunc Sum(a, b int) int { return c }\n"), 0o644))
	report := run(t, r, dir, testrun.Request{})
	assert.Equal(t, [3]int{0, 1, 0}, counts(report))
	require.Len(t, report.Failures, 1)
	assert.Contains(t, report.Failures[0].Message, "undefined: c")
	assert.Equal(t, 3, report.Failures[0].Line)
}

func TestGoThatDiesInATest(t *testing.T) {
	r, dir := project(t, "go")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sum_test.go"),
		[]byte("package sum\n\nimport (\"os\"; \"testing\")\n\nfunc TestGood(t *testing.T) {}\n"+
			"func TestDies(t *testing.T) { os.Exit(3) }\n"), 0o644))
	report := run(t, r, dir, testrun.Request{})
	assert.Equal(t, 1, report.Passed)
	assert.Equal(t, 1, report.Failed)
	assert.Equal(t, []string{"example.org/sum.TestDies"}, names(report))
}

func TestUnittest(t *testing.T) {
	testneed.Program(t, "python3")
	r, dir := project(t, "python")
	report := run(t, r, dir, testrun.Request{})
	assert.Equal(t, testrun.Unittest, report.Framework, "found by test_*.py")
	assert.Equal(t, [3]int{2, 3, 1}, counts(report), report.Output)
	assert.Equal(t, []string{"test_sum.SumTest.test_error", "test_sum.SumTest.test_parts (i=1)",
		"test_sum.SumTest.test_wrong"}, names(report))
	wrong := report.Failures[2]
	assert.Equal(t, "test_sum.py", wrong.File)
	assert.Equal(t, 8, wrong.Line)
	assert.Contains(t, wrong.Message, "AssertionError: 2 != 3")
}

func TestUnittestOfAFile(t *testing.T) {
	testneed.Program(t, "python3")
	r, dir := project(t, "python")
	assert.Equal(t, [3]int{2, 3, 1}, counts(run(t, r, dir, testrun.Request{Path: "test_sum.py"})))
	assert.Equal(t, [3]int{1, 0, 0},
		counts(run(t, r, dir, testrun.Request{Framework: testrun.Unittest, Path: "test_sum.SumTest.test_adds"})),
		"a dotted name")
	assert.Equal(t, [3]int{1, 0, 0},
		counts(run(t, r, dir, testrun.Request{Framework: testrun.Unittest, Path: "*adds*"})), "a pattern")
}

func TestPytestThatIsMissing(t *testing.T) {
	testneed.Program(t, "python3")
	if exec.Command("python3", "-c", "import pytest").Run() == nil {
		testneed.Skip(t, "pytest is installed here; the test is about a Python without it")
	}
	r, dir := project(t, "python")
	report := run(t, r, dir, testrun.Request{Framework: testrun.Pytest})
	assert.False(t, report.OK())
	require.NotEmpty(t, report.Warnings)
	assert.Contains(t, report.Warnings[0], "pytest is not installed")
}

// nodePackages puts jest, mocha and c8 into a project, from the directory in
// TOOLHOST_NODE_PACKAGES; .ci/node-packages fills one.
func nodePackages(t *testing.T, dir string) {
	t.Helper()
	from := os.Getenv("TOOLHOST_NODE_PACKAGES")
	if from == "" {
		testneed.Missing(t, "TOOLHOST_NODE_PACKAGES does not name a directory with node_modules; see .ci/node-packages")
	}
	from = filepath.Join(from, "node_modules")
	require.NoError(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, "node_modules", strings.TrimPrefix(path, from))
		switch {
		case entry.IsDir():
			return os.MkdirAll(to, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, to))
		}
		if os.Link(path, to) == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(to, data, 0o755))
	}))
}

func TestJest(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	testneed.Program(t, "node")
	r, dir := project(t, "jest")
	nodePackages(t, dir)
	report := run(t, r, dir, testrun.Request{Coverage: true})
	assert.Equal(t, testrun.Jest, report.Framework, "found by package.json")
	assert.Equal(t, [3]int{1, 2, 2}, counts(report), report.Output)
	assert.ElementsMatch(t, []string{"broken.test.js", "sum is wrong"}, names(report))
	for _, f := range report.Failures {
		if f.Name == "sum is wrong" {
			assert.Equal(t, "sum.test.js", f.File)
			assert.Equal(t, 5, f.Line)
			assert.Contains(t, f.Message, "Expected: 3")
		} else {
			assert.Contains(t, f.Message, "./nowhere")
		}
	}
	require.NotNil(t, report.Coverage)
	assert.Equal(t, "lines", report.Coverage.Of)
	assert.InDelta(t, 100, report.Coverage.Percent, 0.01)
	assert.Equal(t, [3]int{1, 1, 2}, counts(run(t, r, dir, testrun.Request{Path: "sum.test.js"})))
}

func TestMocha(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	testneed.Program(t, "node")
	r, dir := project(t, "mocha")
	nodePackages(t, dir)
	report := run(t, r, dir, testrun.Request{Coverage: true})
	assert.Equal(t, testrun.Mocha, report.Framework, "found by package.json")
	assert.Equal(t, [3]int{1, 1, 1}, counts(report), report.Output)
	require.Len(t, report.Failures, 1)
	f := report.Failures[0]
	assert.Equal(t, "sum is wrong", f.Name)
	assert.Equal(t, "test/sum.spec.js", f.File)
	assert.Equal(t, 7, f.Line)
	require.NotNil(t, report.Coverage, report.Warnings)
	assert.Equal(t, [3]int{1, 0, 0}, counts(run(t, r, dir, testrun.Request{Path: "adds", Framework: testrun.Mocha})),
		"a part of the name")
}

func TestCargo(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	if _, err := exec.LookPath("cargo"); err != nil {
		testneed.Skip(t, "cargo is not installed; TestRecordedCargo reads what it printed elsewhere")
	}
	r, dir := project(t, "cargo")
	report := run(t, r, dir, testrun.Request{})
	assert.Equal(t, testrun.Cargo, report.Framework, "found by Cargo.toml")
	assert.Equal(t, [3]int{3, 1, 1}, counts(report), report.Output)
	require.Len(t, report.Failures, 1)
	assert.Equal(t, "tests::wrong", report.Failures[0].Name)
	assert.Equal(t, "src/lib.rs", report.Failures[0].File)
	assert.Equal(t, 14, report.Failures[0].Line)
}

func TestNothingRecognized(t *testing.T) {
	r, dir := project(t, "")
	_, err := r.Run(context.Background(), testrun.Request{}, dir, nil)
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	_, err = r.Run(context.Background(), testrun.Request{Framework: "nose"}, dir, nil)
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
	_, err = r.Run(context.Background(), testrun.Request{Path: "../other"}, dir, nil)
	assert.Equal(t, tool.PathOutsideWorkspace, tool.CodeOf(err))
}

func TestNearestProjectOfAPath(t *testing.T) {
	r, dir := project(t, "")
	require.NoError(t, os.CopyFS(filepath.Join(dir, "lib"), os.DirFS("testdata/python")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"), 0o644))
	testneed.Program(t, "python3")
	report := run(t, r, dir, testrun.Request{Path: "lib/test_sum.py"})
	assert.Equal(t, testrun.Unittest, report.Framework)
	assert.Equal(t, "lib", report.Dir)
	assert.Equal(t, "lib/test_sum.py", report.Failures[0].File)
}

func TestTimeoutKeepsWhatWasPrinted(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	testneed.Program(t, "python3")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test_slow.py"),
		[]byte("import time, unittest\nclass T(unittest.TestCase):\n    def test_x(self):\n"+
			"        print('started', flush=True)\n        time.sleep(600)\n"), 0o644))
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	defer ws.Close()
	var report *testrun.Report
	testproc.LongEnough(2*time.Second, func(limit time.Duration) bool {
		report, err = testrun.New(ws, testrun.Options{Timeout: limit}).Run(context.Background(),
			testrun.Request{}, filepath.Join(dir, "out"), nil)
		require.NoError(t, err)
		return strings.Contains(report.Output, "started")
	})
	assert.True(t, report.TimedOut)
	assert.False(t, report.OK())
	assert.Contains(t, report.Output, "started")
	assert.Contains(t, report.Text(false), "took too long")
}

func TestReportThatIsALink(t *testing.T) {
	testneed.Program(t, "python3")
	secret := filepath.Join(t.TempDir(), "secret.json")
	require.NoError(t,
		os.WriteFile(secret, []byte(`{"passed": 99, "skipped": 0, "failures": [], "warnings": []}`), 0o600))
	dir := t.TempDir()
	code := "import os, sys, unittest\nos.symlink(" + `"` + secret + `"` +
		", sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].endswith('report.json') else REPORT)\nos._exit(0)\n"
	code = strings.ReplaceAll(code, "REPORT", "__import__('__main__').report")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test_link.py"), []byte(code), 0o644))
	report := run(t, runner(t, dir), dir, testrun.Request{})
	assert.Zero(t, report.Passed, "what a test run leaves is not followed out of its directory")
	assert.NotEmpty(t, report.Warnings)
}
