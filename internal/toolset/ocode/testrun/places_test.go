package testrun_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/ocode/testrun"
)

func tree(t *testing.T, files map[string]string) (*testrun.Runner, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	testfile.WriteAll(t, dir, files)
	return runner(t, dir), dir
}

// A failure's place is in the workspace, wherever the project is, and not in
// the library that noticed the failure.
func TestPlaceOfAFailure(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	t.Setenv("GOFLAGS", "") // with -trimpath a panic names no directories
	const module = "// the module\nmodule example.org/m // here\n\ngo 1.21\n"
	for name, c := range map[string]struct {
		needs, file string
		line        int
		files       map[string]string
	}{
		"go, a package below": {"go", "lib/sub/a_test.go", 4, map[string]string{
			"lib/go.mod": module, "lib/sub/a_test.go": "package sub\n\nimport \"testing\"\nfunc TestA(t *testing.T) { t.Error(1) }\n"}},
		"go, a panic": {"go", "lib/a_test.go", 4, map[string]string{
			"lib/go.mod": module, "lib/a_test.go": "package m\n\nimport \"testing\"\n" +
				"func TestA(t *testing.T) { var m map[int]int; m[1] = 1 }\n"}},
		"go, what does not compile": {"go", "lib/sub/a_test.go", 3, map[string]string{
			"lib/go.mod": module, "lib/sub/a_test.go": "package sub\n\nvar x = y\n"}},
		"unittest, a file that cannot be imported": {"python3", "lib/test_a.py", 2, map[string]string{
			"lib/test_a.py": "import os\nimport no_such_module\n"}},
		"unittest, a file that does not parse": {"python3", "lib/test_a.py", 1, map[string]string{
			"lib/test_a.py": "def (:\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			testneed.Program(t, c.needs)
			r, dir := tree(t, c.files)
			report := run(t, r, dir, testrun.Request{Path: "lib"})
			require.Len(t, report.Failures, 1, report.Output)
			assert.Equal(t, c.file, report.Failures[0].File)
			assert.Equal(t, c.line, report.Failures[0].Line)
		})
	}
}

const twoTests = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n"

func TestUnittestRequests(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	testneed.Program(t, "python3")
	for name, c := range map[string]struct {
		request testrun.Request
		passed  int
	}{
		"all, verbose":         {testrun.Request{Verbose: true}, 2},
		"a directory, verbose": {testrun.Request{Path: "lib", Verbose: true}, 2},
		"a file, verbose":      {testrun.Request{Path: "lib/test_a.py", Verbose: true}, 2},
		"a pattern, verbose": {testrun.Request{Path: "lib/*test_b", Framework: testrun.Unittest, Verbose: true},
			1},
		"a test as pytest names it": {testrun.Request{Path: "lib/test_a.py::T::test_a"}, 1},
		"a class so":                {testrun.Request{Path: "./lib/test_a.py::T"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := tree(t, map[string]string{"lib/test_a.py": twoTests,
				"test_root.py": "import sys\nsys.path.insert(0, 'lib')\nfrom test_a import T\n"})
			report := run(t, r, dir, c.request)
			assert.True(t, report.OK(), report.Output)
			assert.Equal(t, testrun.Unittest, report.Framework)
			assert.Equal(t, c.passed, report.Passed, report.Output)
			require.Greater(t, len(report.Command), 3)
			assert.Equal(t, []string{"-m", "unittest"}, report.Command[1:3], "what a person would run")
		})
	}
}

func TestGoPackagesOfADirectory(t *testing.T) {
	testneed.NotShort(t, "starts test programs of other languages")
	testneed.Program(t, "go")
	r, dir := tree(t, map[string]string{
		"lib/go.mod":        "module m\n\ngo 1.21\n",
		"lib/a_test.go":     "package m\n\nimport \"testing\"\n\nfunc TestA(*testing.T) {}\n",
		"lib/sub/b_test.go": "package sub\n\nimport \"testing\"\n\nfunc TestB(*testing.T) {}\n",
		"lib/none/c.go":     "package none\n",
	})
	for path, passed := range map[string]int{"./lib/...": 2, "lib/sub/...": 1, "lib": 2, "lib/sub/b_test.go": 1} {
		assert.Equal(t, [3]int{passed, 0, 0}, counts(run(t, r, dir, testrun.Request{Path: path})), path)
	}
	report := run(t, r, dir, testrun.Request{Path: "lib/none"})
	assert.True(t, report.OK())
	assert.Contains(t, report.Warnings, "go found no tests")
}

func TestNothingRecognizedSaysWhere(t *testing.T) {
	r, dir := tree(t, map[string]string{"web/package.json": `{"scripts":{"test":"node --test"}}`})
	for path, where := range map[string]string{"": "in the workspace", "web": "in web and",
		"web/package.json": "in web and", "gone": "in the workspace", "web/a::b": "in web and"} {
		_, err := r.Run(context.Background(), testrun.Request{Path: path}, dir, nil)
		require.Equal(t, tool.NotFound, tool.CodeOf(err), path)
		assert.Contains(t, err.Error(), "no test framework was recognized "+where, path)
	}
	_, err := r.Run(context.Background(), testrun.Request{Path: "../x/test_a.py::T"}, dir, nil)
	assert.Equal(t, tool.PathOutsideWorkspace, tool.CodeOf(err))
}
