package ocode_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/ocode"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect"
)

func builder(t *testing.T) *bench {
	t.Helper()
	binary := filepath.Join(t.TempDir(), architect.BinaryName)
	out, err := exec.Command("go", "build", "-o", binary,
		"github.com/toolhost/toolhost/cmd/toolhost-architect").CombinedOutput()
	require.NoError(t, err, string(out))
	b := newBenchWith(t, ocode.Deps{Architect: binary})
	b.write("go.mod", "module example.org/m\n\ngo 1.26\n")
	b.write("a/a.go", "package a\n\nimport \"example.org/m/b\"\n\nvar A = b.B\n")
	b.write("b/b.go", "package b\n\nvar B = 1\n")
	b.write("sub/deep/er/x.py", "import os\n")
	return b
}

func TestArchitect(t *testing.T) {
	testneed.NotShort(t, "starts other programs")
	b := builder(t)
	for _, kind := range []string{"overview", "dependencies", "structure", "metrics"} {
		t.Run("analysis_type "+kind, func(t *testing.T) {
			g := b.call("architect", args{"analysis_type": kind})
			require.True(t, g.Success, g.Error)
			assert.NotEmpty(t, g.Output)
			assert.Equal(t, kind, g.Metadata["analysis_type"])
			for _, fact := range []string{"files", "directories", "lines", "code", "languages", "components",
				"dependencies", "cycles"} {
				assert.Contains(t, g.Metadata, fact)
			}
		})
	}
	t.Run("path", func(t *testing.T) {
		assert.Equal(t, []any{"Python"},
			b.call("architect", args{"analysis_type": "overview", "path": "sub"}).Metadata["languages"])
		b.fails("File not found: none", "architect", args{"analysis_type": "overview", "path": "none"})
		b.fails("Path not allowed: .. is outside the workspace", "architect",
			args{"analysis_type": "overview", "path": ".."})
	})
	t.Run("path default is the workspace", func(t *testing.T) {
		languages := b.call("architect", args{"analysis_type": "overview"}).Metadata["languages"]
		assert.Contains(t, languages, "Go")
		assert.Contains(t, languages, "Python")
	})
	t.Run("depth", func(t *testing.T) {
		deep := b.call("architect", args{"analysis_type": "structure", "depth": 9}).Output
		flat := b.call("architect", args{"analysis_type": "structure", "depth": 1}).Output
		assert.Contains(t, deep, "er")
		assert.Less(t, len(flat), len(deep))
		b.fails("Invalid depth: 0", "architect", args{"analysis_type": "structure", "depth": 0})
	})
	t.Run("depth default 3", func(t *testing.T) {
		assert.Equal(t, b.call("architect", args{"analysis_type": "structure", "depth": 3}).Output,
			b.call("architect", args{"analysis_type": "structure"}).Output)
	})
	t.Run("output_format default text", func(t *testing.T) {
		assert.False(t, json.Valid([]byte(b.call("architect", args{"analysis_type": "overview"}).Output)))
	})
	t.Run("output_format json", func(t *testing.T) {
		assert.True(t, json.Valid([]byte(b.call("architect",
			args{"analysis_type": "dependencies", "output_format": "json"}).Output)))
	})
	t.Run("output_format mermaid", func(t *testing.T) {
		g := b.call("architect", args{"analysis_type": "dependencies", "output_format": "mermaid"})
		assert.Regexp(t, `(?m)^(flowchart|graph) `, g.Output)
		assert.Contains(t, g.Output, "-->")
	})
	t.Run("the program is missing", func(t *testing.T) {
		none := newBenchWith(t, ocode.Deps{Architect: "/no/such/" + architect.BinaryName})
		none.failsWith("", "architect", args{"analysis_type": "overview"})
	})
}

func goProject(t *testing.T) *bench {
	b := newBench(t)
	b.write("go.mod", "module example.org/sum\n\ngo 1.26\n")
	b.write("sum.go", "package sum\n\nfunc Sum(a, b int) int { return a + b }\n")
	b.write("sum_test.go", "package sum\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {\n"+
		"\tif t.Log(\"logged by the good one\"); Sum(1, 1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n\n"+
		"func TestSkipped(t *testing.T) { t.Skip(\"not now\") }\n\nfunc TestWrong(t *testing.T) { t.Error(\"1 + 1 is not 3\") }\n")
	return b
}

func TestTestRunner(t *testing.T) {
	testneed.NotShort(t, "starts other programs")
	t.Run("framework left out", func(t *testing.T) {
		b := goProject(t)
		g := b.failsWith("Tests failed: 1 of 3", "test_runner", nil)
		assert.Equal(t, "go", g.Metadata["framework"])
		assert.EqualValues(t, 1, g.Metadata["passed"])
		assert.EqualValues(t, 1, g.Metadata["failed"])
		assert.EqualValues(t, 1, g.Metadata["skipped"])
		assert.Positive(t, g.Metadata["duration"])
		assert.Contains(t, g.Error, "1 + 1 is not 3")
		failures := g.Metadata["failures"].([]any)
		require.Len(t, failures, 1)
		assert.Equal(t, "sum_test.go", failures[0].(args)["file"])
		assert.NotEmpty(t, b.host.ProgressReports(), "lines come as they are printed")
	})
	t.Run("framework unittest", func(t *testing.T) {
		testneed.Program(t, "python3")
		b := newBench(t)
		b.write("test_x.py", "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n")
		g := b.ok("test_runner", args{"framework": "unittest"})
		assert.EqualValues(t, 1, g.Metadata["passed"])
		assert.Contains(t, g.Output, "1 passed")
	})
	for _, framework := range []string{"pytest", "jest", "mocha", "cargo"} {
		t.Run("framework "+framework+" that is not there", func(t *testing.T) {
			newBench(t).failsWith("", "test_runner", args{"framework": framework})
		})
	}
	t.Run("path", func(t *testing.T) {
		b := goProject(t)
		g := b.ok("test_runner", args{"path": "TestGood"})
		assert.EqualValues(t, 1, g.Metadata["passed"])
		assert.EqualValues(t, 0, g.Metadata["failed"])
		b.failsWith("Path not allowed", "test_runner", args{"path": "../elsewhere"})
	})
	t.Run("verbose default false", func(t *testing.T) {
		assert.NotContains(t, goProject(t).ok("test_runner", args{"path": "TestGood"}).Output, "logged by the good one")
	})
	t.Run("verbose true", func(t *testing.T) {
		assert.Contains(t, goProject(t).ok("test_runner", args{"path": "TestGood", "verbose": true}).Output,
			"logged by the good one")
	})
	t.Run("coverage default false", func(t *testing.T) {
		assert.NotContains(t, goProject(t).ok("test_runner", args{"path": "TestGood"}).Metadata, "coverage")
	})
	t.Run("coverage true", func(t *testing.T) {
		g := goProject(t).ok("test_runner", args{"path": "TestGood", "coverage": true})
		assert.EqualValues(t, 100, g.Metadata["coverage"].(args)["percent"])
	})
	t.Run("no tests", func(t *testing.T) {
		newBench(t).failsWith("No test framework was recognized in the workspace", "test_runner", nil)
	})
}
