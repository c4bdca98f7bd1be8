package clemini_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/clemini"
)

func searchCases() []provingCase {
	return []provingCase{
		{"glob example 1; glob parameter pattern; glob default directory; glob default sort; glob default " +
			"head_limit; glob default offset; glob result matches; glob result count; glob result " +
			"total_found; glob result truncated", func(t *testing.T) {
			b := newBench(t, "src/main.rs", "", "src/lib.rs", "", "src/tools/mod.rs", "", "README.md", "",
				"target/x.rs", "", ".gitignore", "target/\n", ".git/a.rs", "", ".github/b.rs", "")
			require.NoError(t, os.MkdirAll(b.path("dir.rs"), 0o755))
			b.gives(`{"matches":[".github/b.rs","src/lib.rs","src/main.rs","src/tools/mod.rs"],"count":4,`+
				`"total_found":4,"truncated":false}`,
				"glob", args{"pattern": "**/*.rs"})
			b.gives(`{"matches":["src/lib.rs","src/main.rs"],"count":2,"total_found":2,"truncated":false}`, "glob",
				args{"pattern": "src/*.rs"})
		}},
		{"glob example 2; glob parameter directory; glob parameter sort", func(t *testing.T) {
			b := newBench(t, "docs/TOOLS.md", "12", "docs/TEXT_RENDERING.md", "123", "docs/a.md", "1", "top.md", "")
			now := time.Now()
			for i, name := range []string{"docs/a.md", "docs/TEXT_RENDERING.md", "docs/TOOLS.md"} {
				require.NoError(t, os.Chtimes(b.path(name), now, now.Add(time.Duration(i)*time.Minute)))
			}
			b.gives(`{"matches":["docs/TOOLS.md","docs/TEXT_RENDERING.md","docs/a.md"],"count":3,"total_found":3,"truncated":false}`,
				"glob", args{"pattern": "*.md", "directory": "docs", "sort": "modified"})
			b.gives(`{"matches":["docs/TEXT_RENDERING.md","docs/TOOLS.md","docs/a.md"],"count":3,"total_found":3,"truncated":false}`,
				"glob", args{"pattern": "*.md", "directory": "docs", "sort": "size"})
			b.gives(`{"matches":["docs/TEXT_RENDERING.md","docs/TOOLS.md","docs/a.md"],"count":3,"total_found":3,"truncated":false}`,
				"glob", args{"pattern": "*.md", "directory": b.path("docs"), "sort": "name"})
			b.fails("INVALID_ARGUMENT", "", "glob", args{"pattern": "*", "sort": "date"})
			b.fails("NOT_FOUND", "Directory not found: none", "glob", args{"pattern": "*", "directory": "none"})
			b.fails("INVALID_ARGUMENT", "Not a directory: top.md", "glob", args{"pattern": "*", "directory": "top.md"})
			b.write("odd[1]{a}/x.md", "")
			b.gives(`{"matches":["odd[1]{a}/x.md"],"count":1,"total_found":1,"truncated":false}`, "glob",
				args{"pattern": "*.md", "directory": "odd[1]{a}"})
		}},
		{"glob example 3; glob parameter head_limit; glob parameter offset", func(t *testing.T) {
			b := newBench(t)
			for i := range 25 {
				b.write("src/"+string(rune('a'+i))+".ts", "")
			}
			b.gives(`{"matches":["src/k.ts","src/l.ts"],"count":2,"total_found":25,"truncated":true}`, "glob",
				args{"pattern": "**/*.ts", "head_limit": 2, "offset": 10})
			b.gives(`{"matches":["src/y.ts"],"count":1,"total_found":25,"truncated":false}`, "glob",
				args{"pattern": "**/*.ts", "head_limit": 10, "offset": 24})
			b.gives(`{"matches":[],"count":0,"total_found":25,"truncated":false}`, "glob",
				args{"pattern": "**/*.ts", "offset": 99})
		}},
		{"glob example 4", func(t *testing.T) {
			b := newBench(t, "a.txt", "")
			b.gives(`{"matches":[],"count":0,"total_found":0,"truncated":false}`, "glob", args{"pattern": "**/*.xyz"})
			b.fails("INVALID_ARGUMENT", "", "glob", args{"pattern": "[a"})
		}},
		{"grep example 1; grep parameter pattern; grep parameter type; grep default output_mode; grep default " +
			"context; grep default before_context; grep default after_context; grep default directory; " +
			"grep default file_pattern; grep default head_limit; grep default offset; grep result matches; " +
			"grep result count; grep result total_found", func(t *testing.T) {
			b := newBench(t, "src/main.rs", "\n\nfn main() {\n}\n", "a.go", "fn x\n", ".gitignore", "target\n",
				"target/x.rs", "fn y\n", "bin.rs", "fn z\x00")
			want := `{"matches":[{"file":"src/main.rs","line":3,"content":"fn main() {"}],"count":1,"total_found":1}`
			b.gives(want, "grep", args{"pattern": `fn\s+\w+`, "type": "rs", "output_mode": "content"})
			b.gives(want, "grep", args{"pattern": `fn\s+\w+`, "type": "rust"})
			b.gives(`{"matches":[{"file":"a.go","line":1,"content":"fn `+
				`x"},{"file":"src/main.rs","line":3,"content":"fn main() {"}],"count":2,"total_found":2}`,
				"grep", args{"pattern": `fn\s+\w+`})
			b.gives(`{"matches":[],"count":0,"total_found":0}`, "grep", args{"pattern": "nothing"})
			b.fails("INVALID_ARGUMENT", "", "grep", args{"pattern": "("})
		}},
		{"grep example 2; grep parameter output_mode", func(t *testing.T) {
			b := newBench(t, "src/lib.rs", "TODO\nTODO\n", "src/tools/bash.rs", "// TODO\n", "x", "")
			b.gives(`{"matches":["src/lib.rs","src/tools/bash.rs"],"count":2,"total_found":2}`, "grep",
				args{"pattern": "TODO", "output_mode": "files_with_matches"})
			b.fails("INVALID_ARGUMENT", "", "grep", args{"pattern": "TODO", "output_mode": "lines"})
		}},
		{"grep example 3; grep parameter case_insensitive; grep default case_insensitive; grep parameter context; " +
			"grep parameter before_context; grep parameter after_context", func(t *testing.T) {
			b := newBench(t, "src/main.rs", "1\n2\n3\nError here\n5\n6\n7\n")
			b.gives(`{"matches":[{"file":"src/main.rs","line":4,"content":"Error `+
				`here","before":["2","3"],"after":["5","6"]}],"count":1,"total_found":1}`,
				"grep", args{"pattern": "error", "case_insensitive": true, "context": 2})
			b.gives(`{"matches":[{"file":"src/main.rs","line":4,"content":"Error `+
				`here","before":["3"],"after":["5","6"]}],"count":1,"total_found":1}`,
				"grep", args{"pattern": "Error", "context": 2, "before_context": 1})
			b.gives(`{"matches":[{"file":"src/main.rs","line":4,"content":"Error here","before":["2","3"]}],"count":1,"total_found":1}`,
				"grep", args{"pattern": "Error", "context": 2, "after_context": 0})
			b.gives(`{"matches":[{"file":"src/main.rs","line":4,"content":"Error here","after":["5"]}],"count":1,"total_found":1}`,
				"grep", args{"pattern": "Error", "after_context": 1})
			b.gives(`{"matches":[{"file":"src/main.rs","line":1,"content":"1","before":[],"after":["2"]}],"count":1,"total_found":1}`,
				"grep", args{"pattern": "1", "context": 1})
			b.gives(`{"matches":[],"count":0,"total_found":0}`, "grep", args{"pattern": "error"})
		}},
		{"grep example 4", func(t *testing.T) {
			b := newBench(t, "src/lib.rs", strings.Repeat("a.unwrap();\n", 2), "src/main.rs",
				strings.Repeat("b.unwrap().c.unwrap();\n", 5))
			b.gives(`{"matches":[{"file":"src/lib.rs","count":2},{"file":"src/main.rs","count":5}],"count":2,"total_found":7}`,
				"grep", args{"pattern": `unwrap\(\)`, "type": "rs", "output_mode": "count"})
		}},
		{"grep example 5; grep parameter directory; grep parameter file_pattern", func(t *testing.T) {
			b := newBench(t, "src/components/A.tsx", "import a\n", "src/components/deep/B.tsx", "import b\n",
				"src/components/c.ts", "import c\n", "src/D.tsx", "import d\n")
			b.gives(`{"matches":["src/components/A.tsx","src/components/deep/B.tsx"],"count":2,"total_found":2}`,
				"grep", args{"pattern": "import", "directory": "src/components", "file_pattern": "*.tsx",
					"output_mode": "files_with_matches"})
			b.gives(`{"matches":["src/components/deep/B.tsx"],"count":1,"total_found":1}`,
				"grep", args{"pattern": "import", "file_pattern": "src/**/deep/*", "output_mode": "files_with_matches"})
			b.fails("NOT_FOUND", "Directory not found: none", "grep", args{"pattern": "x", "directory": "none"})
		}},
		{"grep parameter head_limit; grep parameter offset; grep result truncated", func(t *testing.T) {
			b := newBench(t, "a", "x1\nx2\nx3\n", "b", "x4\nx5\n")
			b.gives(`{"matches":[{"file":"a","line":2,"content":"x2"},{"file":"a","line":3,"content":"x3"}],`+
				`"count":2,"total_found":5,"truncated":true}`,
				"grep", args{"pattern": "x", "head_limit": 2, "offset": 1})
			b.gives(`{"matches":[{"file":"b","line":2,"content":"x5"}],"count":1,"total_found":5}`, "grep",
				args{"pattern": "x", "head_limit": 2, "offset": 4})
			b.gives(`{"matches":["b"],"count":1,"total_found":2}`, "grep",
				args{"pattern": "x", "output_mode": "files_with_matches", "offset": 1})
			b.gives(`{"matches":["a"],"count":1,"total_found":2,"truncated":true}`, "grep",
				args{"pattern": "x", "output_mode": "files_with_matches", "head_limit": 1})
			b.gives(`{"matches":[{"file":"a","count":3}],"count":1,"total_found":5,"truncated":true}`, "grep",
				args{"pattern": "x", "output_mode": "count", "head_limit": 1})
		}},
	}
}

// Toolhost's own records are searched only on request.
func TestOwnRecordsAreNotSearched(t *testing.T) {
	b := newBench(t, ".agent/runs/cli/events.jsonl", "needle\n", ".agent/cache/tasks/x/stdout.log", "needle\n",
		".agent/Taskfile.yml", "needle\n", "a/.agent/runs/b", "needle\n")
	b.gives(`{"matches":[".agent/Taskfile.yml","a/.agent/runs/b"],"count":2,"total_found":2}`, "grep",
		args{"pattern": "needle", "output_mode": "files_with_matches"})
	b.gives(`{"matches":[".agent/runs/cli/events.jsonl"],"count":1,"total_found":1}`, "grep",
		args{"pattern": "needle", "directory": ".agent/runs", "output_mode": "files_with_matches"})
	b.gives(`{"matches":[".agent/Taskfile.yml","a/.agent/runs/b"],"count":2,"total_found":2,"truncated":false}`,
		"glob", args{"pattern": "**/*"})
}

// another returns a bench on the same files.
func (b *bench) another() *bench {
	b.t.Helper()
	ws, err := workspace.Open(b.root, workspace.Options{})
	require.NoError(b.t, err)
	b.t.Cleanup(func() { ws.Close() })
	other := newBenchOf(b.t,
		clemini.Deps{Workspace: ws, Tasks: b.tasks})
	other.root = b.root
	return other
}

func TestLongMatchesAreCut(t *testing.T) {
	b := newBench(t, "a", "needle "+strings.Repeat("x", 100_000)+"\n")
	got := b.ok("grep", args{"pattern": "needle"})
	content := got["matches"].([]any)[0].(map[string]any)["content"].(string)
	assert.Less(t, len(content), 3000)
	assert.Contains(t, content, "more bytes in this line]")
}

// TestGrepAnswerIsBounded pages through more than one answer holds, without
// head_limit: truncated and the hint say how to go on, and nothing is lost.
func TestGrepAnswerIsBounded(t *testing.T) {
	testneed.NotShort(t, "reads and searches large files")
	const lines = 130_000
	b := newBench(t, "a.txt", strings.Repeat("needle\n", lines), "b.txt", "needle\n")
	for offset, pages := 0, 1; ; pages++ {
		object, result := b.call("grep", args{"pattern": "needle", "offset": offset})
		assert.Less(t, len(result.Structured), 16<<20)
		matches := object["matches"].([]any)
		assert.EqualValues(t, len(matches), object["count"])
		assert.EqualValues(t, lines+1, object["total_found"])
		first, last := matches[0].(map[string]any), matches[len(matches)-1].(map[string]any)
		if assert.EqualValues(t, offset%lines+1, first["line"]); object["truncated"] == nil {
			assert.NotContains(t, object, "context")
			assert.Equal(t, "b.txt", last["file"])
			assert.Greater(t, pages, 1)
			break
		}
		offset += len(matches)
		assert.EqualValues(t, offset, last["line"])
		assert.Contains(t, object["context"].(map[string]any)["hint"], fmt.Sprintf("go on with offset %d.", offset))
	}
}

func TestGrepContextIsBounded(t *testing.T) {
	b := newBench(t, "a.txt", strings.Repeat("line\n", 3000)+"needle\nlast\n")
	object := b.ok("grep", args{"pattern": "needle", "context": 1_000_000_000_000})
	match := object["matches"].([]any)[0].(map[string]any)
	assert.Len(t, match["before"], 1000)
	assert.Equal(t, []any{"last"}, match["after"])
	assert.Equal(t, true, object["truncated"])
	assert.Contains(t, object["context"].(map[string]any)["hint"], "1000 lines")
	assert.NotContains(t, b.ok("grep", args{"pattern": "needle", "context": 999}), "truncated")
}

func TestGlobAnswerIsBounded(t *testing.T) {
	testneed.NotShort(t, "reads and searches large files")
	b := newBench(t)
	const count = 3000
	long := strings.Repeat("d", 200)
	dir := strings.Repeat(long+"/", 15)
	require.NoError(t, os.MkdirAll(b.path(dir), 0o755))
	for i := range count {
		b.write(dir+fmt.Sprintf("%04d", i), "")
	}
	found := []any{}
	for {
		object := b.ok("glob", args{"pattern": "**", "offset": len(found)})
		assert.EqualValues(t, count, object["total_found"])
		found = append(found, object["matches"].([]any)...)
		if object["truncated"] == false {
			break
		}
		assert.Contains(t, object["context"].(map[string]any)["hint"], fmt.Sprintf("go on with offset %d.", len(found)))
	}
	require.Len(t, found, count)
	assert.Equal(t, dir+"0000", found[0])
	assert.Equal(t, dir+"2999", found[count-1])
}
