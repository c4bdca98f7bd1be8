package agentbench_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

// numbered returns lines "from\n" to "to\n".
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

func TestReadFileExample(t *testing.T) {
	f := newFixture(t)
	content := "def main():\n    ...\n" + numbered(3, 42)
	f.write(t, "src/main.py", content)
	assert.Equal(t, map[string]any{
		"content": content, "truncated": false, "total_lines": 42.0, "start_line": 1.0, "end_line": 42.0,
	}, f.succeeds(t, "read_file", `{"path":"src/main.py"}`))
}

func TestReadFileContentIsTheFiles(t *testing.T) {
	f := newFixture(t)
	for content, lines := range map[string]int{
		"": 0, "x": 1, "x\n": 1, "\n": 1, "a\nb": 2, "a\r\nb\r\n": 2, "\n\n": 2, "ünï\n": 1, "\ufeffbom\n": 1,
		"<a href=\"x\">&\n": 1,
	} {
		f.write(t, "f", content)
		data := f.succeeds(t, "read_file", `{"path":"f"}`)
		assert.Equal(t, content, data["content"])
		assert.Equal(t, float64(lines), data["total_lines"], "%q", content)
		assert.Equal(t, 1.0, data["start_line"])
		assert.Equal(t, float64(lines), data["end_line"])
	}
}

func TestReadFileRange(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "a\nb\nc\nd\ne")
	for _, c := range []struct {
		params     string
		content    string
		start, end float64
	}{
		{`{"path":"f","start_line":1,"end_line":1}`, "a\n", 1, 1},
		{`{"path":"f","start_line":2,"end_line":4}`, "b\nc\nd\n", 2, 4},
		{`{"path":"f","start_line":4}`, "d\ne", 4, 5},
		{`{"path":"f","end_line":2}`, "a\nb\n", 1, 2},
		{`{"path":"f","start_line":5,"end_line":5}`, "e", 5, 5},
		{`{"path":"f","start_line":3,"end_line":900}`, "c\nd\ne", 3, 5},
	} {
		data := f.succeeds(t, "read_file", c.params)
		assert.Equal(t, map[string]any{
			"content": c.content, "truncated": false, "total_lines": 5.0, "start_line": c.start, "end_line": c.end,
		}, data, c.params)
	}
	f.fails(t, "invalid_argument", "f has 5 lines, so there is no line 6", "read_file", `{"path":"f","start_line":6}`)
	f.fails(t, "invalid_argument", "ends before it starts", "read_file", `{"path":"f","start_line":4,"end_line":2}`)
}

func TestReadFileOfManyLines(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", numbered(1, 10_000))
	data := f.succeeds(t, "read_file", `{"path":"f"}`)
	assert.Equal(t, false, data["truncated"])
	assert.Equal(t, numbered(1, 10_000), data["content"])

	f.write(t, "f", numbered(1, 10_001))
	e := f.call(t, "read_file", `{"path":"f"}`)
	assert.Equal(t, true, e.Data["truncated"])
	assert.Equal(t, 10_001.0, e.Data["total_lines"])
	assert.Equal(t, 1.0, e.Data["start_line"])
	assert.Equal(t, 10_001.0, e.Data["end_line"])
	assert.Equal(t, 1.0, e.Data["lines_omitted"])
	assert.True(t, e.result.Truncated)
	content := e.Data["content"].(string)
	head, rest, ok := strings.Cut(content, "[...")
	require.True(t, ok)
	mark, tail, ok := strings.Cut(rest, "...]\n")
	require.True(t, ok)
	assert.Equal(t, numbered(1, 5000), head)
	assert.Equal(t, numbered(5002, 10_001), tail)
	assert.Contains(t, mark, "1 lines left out: 5001 to 5001")
}

func TestReadFileTheRangeCounts(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", numbered(1, 30_000))
	data := f.succeeds(t, "read_file", `{"path":"f","start_line":9001,"end_line":19000}`)
	assert.Equal(t, false, data["truncated"])
	assert.Equal(t, numbered(9001, 19000), data["content"])
	data = f.succeeds(t, "read_file", `{"path":"f","start_line":9001,"end_line":19002}`)
	assert.Equal(t, true, data["truncated"])
	assert.Contains(t, data["content"], "\n14000\n[... 2 lines left out: 14001 to 14002; ")
	assert.True(t, strings.HasSuffix(data["content"].(string), "\n"+numbered(14003, 19002)))
}

func TestReadFileNotFound(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "")
	f.fails(t, "file_not_found", "none.py does not exist", "read_file", `{"path":"none.py"}`)
	f.fails(t, "file_not_found", "f/x does not exist", "read_file", `{"path":"f/x"}`)
	f.fails(t, "is_directory", "is a directory", "read_file", `{"path":"."}`)
	f.fails(t, "invalid_argument", "empty", "read_file", `{"path":""}`)
}

func TestReadFileBinary(t *testing.T) {
	f := newFixture(t)
	for name, content := range map[string]string{"latin1": "caf\xe9\n", "nul": "a\x00b", "utf16": "\xff\xfea\x00",
		"png": "\x89PNG\r\n\x1a\n"} {
		f.write(t, name, content)
		f.fails(t, "binary_file", name+" is not UTF-8 text", "read_file", fmt.Sprintf(`{"path":%q}`, name))
	}
}

func TestReadFilePathEscape(t *testing.T) {
	f := newFixture(t)
	out := f.outside(t)
	f.write(t, "a/b", "inside\n")
	for _, path := range []string{"../x", "a/../../x", "/etc/passwd", out + "/secret", f.root + "/../x",
		"a/b/../../../etc/passwd", f.root + "x/y", "/proc/self/environ"} {
		e := f.fails(t, "path_escape", "outside the workspace", "read_file", map[string]any{"path": path})
		assert.Equal(t, path, e.Error.Details["path"])
	}
	for _, path := range []string{"a/b", "./a//b", "a/../a/b", f.root + "/a/b", f.root + "/x/../a/b"} {
		assert.Equal(t, "inside\n", f.succeeds(t, "read_file", map[string]any{"path": path})["content"], path)
	}
}

func TestReadFileSymlinkBlocked(t *testing.T) {
	f := newFixture(t)
	out := f.outside(t)
	f.write(t, "real/x", "inside\n")
	f.link(t, "real/x", "link")
	f.link(t, "real", "dirlink")
	f.link(t, f.root+"/real", "abslink")
	f.link(t, out, "out")
	f.link(t, out+"/secret", "outfile")
	f.link(t, "none", "dangling")
	for _, path := range []string{"link", "dirlink/x", "abslink/x", "out/secret", "outfile", "dangling"} {
		f.fails(t, "symlink_blocked", "symbolic link", "read_file", map[string]any{"path": path})
	}
}

func TestReadFileSymlinksInside(t *testing.T) {
	f := newFixtureOf(t, workspace.Options{}, agentbench.Deps{})
	f.write(t, "real/x", "inside\n")
	f.link(t, "real", "dirlink")
	f.link(t, f.outside(t), "out")
	assert.Equal(t, "inside\n", f.succeeds(t, "read_file", `{"path":"dirlink/x"}`)["content"])
	f.fails(t, "path_escape", "outside", "read_file", `{"path":"out/secret"}`)
}

// The file exceeds one answer: "large outputs are truncated", as truncated and the content say.
func TestReadFileLongLinesAreTruncated(t *testing.T) {
	const most, mark = 8 << 20, "bytes left out of lines"
	f := newFixture(t)
	f.write(t, "f", strings.Repeat("x", most+100)+"\nend\n")
	for _, params := range []string{`{"path":"f"}`, `{"path":"f","end_line":1}`} {
		data := f.succeeds(t, "read_file", params)
		content := data["content"].(string)
		assert.Equal(t, true, data["truncated"])
		assert.True(t, strings.HasPrefix(content, strings.Repeat("x", most)+"\n[... "), params)
		assert.Contains(t, content, fmt.Sprintf("[... %v %s 1 to %v; ", data["bytes_omitted"], mark, data["end_line"]))
		assert.EqualValues(t, 2, data["total_lines"])
	}
	assert.Equal(t, "end\n", f.succeeds(t, "read_file", `{"path":"f","start_line":2}`)["content"])
	f.write(t, "g", strings.Repeat(strings.Repeat("é", 500)+"\n", 12_000))
	content := f.succeeds(t, "read_file", `{"path":"g"}`)["content"].(string)
	assert.Less(t, len(content), most+1000)
	assert.Equal(t, 2, strings.Count(content, mark), "in the first 5,000 lines and in the last")
	assert.Contains(t, content, "[... 2000 lines left out: 5001 to 7000; ")
	assert.True(t, utf8.ValidString(content))
}

// The file is larger than the read buffer.
func TestReadFileOfAnySize(t *testing.T) {
	testneed.NotShort(t, "reads and searches large files")
	const lines, length = 1_000_000, 80
	f := newFixture(t)
	var b strings.Builder
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&b, "%-*d\n", length-1, i)
	}
	f.write(t, "log", b.String())
	data := f.succeeds(t, "read_file", `{"path":"log"}`)
	assert.EqualValues(t, lines, data["total_lines"])
	assert.EqualValues(t, lines-10_000, data["lines_omitted"])
	head, rest, ok := strings.Cut(data["content"].(string), "[... 990000 lines left out: 5001 to 995000; ")
	require.True(t, ok)
	assert.Equal(t, b.String()[:5000*length], head)
	_, tail, _ := strings.Cut(rest, "\n")
	assert.Equal(t, b.String()[995_000*length:], tail)
	data = f.succeeds(t, "read_file", `{"path":"log","start_line":777777,"end_line":777778}`)
	assert.Equal(t, b.String()[777_776*length:777_778*length], data["content"])
	assert.Equal(t, false, data["truncated"])
	f.write(t, "log", b.String()+"\xff\n")
	f.fails(t, "binary_file", "not UTF-8", "read_file", `{"path":"log","end_line":1}`)
}

// Ranges of random texts are compared with the lines as written.
func TestReadFileRangesOfAnyText(t *testing.T) {
	testneed.NotShort(t, "reads and searches large files")
	f := newFixture(t)
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		lines := make([]string, 1+r.IntN(9000))
		for i := range lines {
			lines[i] = strings.Repeat([]string{"a", "é", "😀", "\r"}[r.IntN(4)], r.IntN(1<<r.IntN(9))) + "\n"
		}
		if last := len(lines) - 1; round%2 == 0 && lines[last] != "\n" {
			lines[last] = strings.TrimSuffix(lines[last], "\n")
		}
		f.write(t, "f", strings.Join(lines, ""))
		for range 20 {
			start := 1 + r.IntN(len(lines))
			end := start + r.IntN(len(lines)-start+1)
			data := f.succeeds(t, "read_file", map[string]any{"path": "f", "start_line": start, "end_line": end})
			require.Equal(t, strings.Join(lines[start-1:end], ""), data["content"], "round %d, %d to %d of %d", round,
				start, end, len(lines))
			require.EqualValues(t, len(lines), data["total_lines"])
		}
	}
}

func TestReadFileBelowAFileAndOfADirectory(t *testing.T) {
	f := newFixture(t)
	f.write(t, "dir/f", "x\n")
	e := f.fails(t, "file_not_found", "dir/f/g does not exist", "read_file", `{"path":"dir/f/g"}`)
	assert.Contains(t, e.Error.Details["suggestion"], "list_files")
	e = f.fails(t, "is_directory", "dir is a directory", "read_file", `{"path":"dir"}`)
	assert.Contains(t, e.Error.Details["suggestion"], "list_files")
}

func TestIntegersOfEverySize(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "x\ny\n")
	const huge = "1000000000000000000000000000000"
	assert.Equal(t, "x\ny\n", f.succeeds(t, "read_file", `{"path":"f","end_line":`+huge+`}`)["content"])
	f.fails(t, "invalid_argument", "f has 2 lines", "read_file", `{"path":"f","start_line":`+huge+`}`)
	assert.Len(t, f.search(t, `{"query":"y","max_results":`+huge+`}`), 1)
}
