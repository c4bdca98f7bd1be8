package testrun

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// recorded is a job whose run has ended.
func recorded(t *testing.T, files map[string]string) *job {
	t.Helper()
	ws, err := workspace.Open(t.TempDir(), workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	j := &job{Runner: New(ws, Options{}), ctx: context.Background(), dir: ".", scratch: t.TempDir(),
		report: new(Report)}
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(j.scratch, name), []byte(content), 0o644))
	}
	return j
}

// printed runs a process that prints a text, since only proc makes an Output.
func printed(t *testing.T, file string) *proc.Result {
	t.Helper()
	ended, err := proc.Run(context.Background(), proc.Command{Argv: []string{testneed.Program(t, "cat"), file}})
	require.NoError(t, err)
	return ended
}

// The output of cargo 1.95 for testdata/cargo.
func TestRecordedCargo(t *testing.T) {
	j := recorded(t, nil)
	require.True(t, cargo{}.read(j, printed(t, "testdata/recorded/cargo.txt"), j.report))
	r := j.report
	assert.Equal(t, []int{3, 1, 1}, []int{r.Passed, r.Failed, r.Skipped})
	require.Len(t, r.Failures, 1)
	assert.Equal(t, "tests::wrong", r.Failures[0].Name)
	assert.Equal(t, "src/lib.rs", r.Failures[0].File)
	assert.Equal(t, 14, r.Failures[0].Line)
	assert.Contains(t, r.Failures[0].Message, "sums differ")
}

// A report in the form that pytest documents for junit_family=xunit1.
func TestPytestReport(t *testing.T) {
	j := recorded(t, map[string]string{"report.xml": `<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="0.031">
<testcase classname="tests.test_sum" name="test_adds" file="tests/test_sum.py" line="2" time="0.001"/>
<testcase classname="tests.test_sum.TestSum" name="test_wrong[1-1]" file="tests/test_sum.py" line="6" time="0.001"><failure message="assert 2 == 3">def test_wrong(a, b):
&gt;       assert a + b == 3
E       assert 2 == 3

tests/test_sum.py:8: AssertionError</failure></testcase>
<testcase classname="tests.test_sum" name="test_later" file="tests/test_sum.py" line="10" time="0.0"><skipped type="pytest.skip" message="not today">tests/test_sum.py:11: not today</skipped></testcase>
<testcase classname="" name="tests.test_broken" time="0.0"><error message="collection failure">ModuleNotFoundError: No module named 'nowhere'</error></testcase>
</testsuite></testsuites>`, "coverage.json": `{"totals": {"percent_covered": 87.456}}`})
	j.Coverage = true
	require.True(t, pytest{}.read(j, &proc.Result{ExitCode: 1}, j.report))
	r := j.report
	assert.Equal(t, []int{1, 2, 1}, []int{r.Passed, r.Failed, r.Skipped})
	assert.Equal(t, "tests.test_sum.TestSum.test_wrong[1-1]", r.Failures[0].Name)
	assert.Equal(t, "tests/test_sum.py", r.Failures[0].File)
	assert.Equal(t, 7, r.Failures[0].Line)
	assert.Contains(t, r.Failures[0].Message, "AssertionError")
	assert.Equal(t, "tests.test_broken", r.Failures[1].Name)
	assert.Equal(t, 87.5, r.Coverage.Percent)
}

func TestFailuresAreBounded(t *testing.T) {
	r := new(Report)
	for range maxFailures + 5 {
		r.fail(Failure{Name: "x"})
	}
	assert.Len(t, r.Failures, maxFailures)
	assert.Equal(t, []string{"only the first 100 failures are listed"}, r.Warnings)
}

func FuzzCargoOutput(f *testing.F) {
	f.Add("test a ... FAILED\n---- a stdout ----\npanicked at src/x.rs:1:\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;")
	f.Fuzz(func(t *testing.T, text string) {
		for name := range cargoMessages(text) {
			assert.NotEmpty(t, name)
		}
	})
}
