package htmlmarkdown_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/builtin/internal/htmlmarkdown"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testfile"
)

type bench struct {
	t    *testing.T
	root string
	tool tool.Tool
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	root := t.TempDir()
	ws, err := workspace.Open(root, workspace.Options{Protect: []string{"kept.md"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ws.Close()) })
	b := &bench{t, root, htmlmarkdown.New(ws)}
	for name, text := range files {
		testfile.Write(t, b.path(name), text)
	}
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.root, filepath.FromSlash(name)) }

func (b *bench) call(path string) (*tool.Result, error) {
	return b.tool.Call(b.t.Context(), params(path))
}

func params(path string) *tool.Call {
	return &tool.Call{Tool: "html_to_markdown", Params: tool.MustMarshal(map[string]string{"path": path})}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	return testfile.Read(b.t, b.path(name))
}

func TestContractExample(t *testing.T) {
	page, err := os.ReadFile("testdata/page.html")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/page.md")
	require.NoError(t, err)
	b := newBench(t, map[string]string{"index.html": string(page)})
	result, err := b.call("index.html")
	require.NoError(t, err)
	assert.Equal(t, `{"inputPath":"index.html","outputPath":"index.md","success":true}`, string(result.Structured))
	assert.Equal(t, result.Text(), string(result.Structured))
	assert.Equal(t, []string{"index.md"}, result.FilesAffected)
	assert.Equal(t, string(want), b.read("index.md"))
	assert.Equal(t, string(page), b.read("index.html"))
}

func TestOutputNames(t *testing.T) {
	for input, output := range map[string]string{
		"a.html": "a.md", "a.htm": "a.md", "a.b.xhtml": "a.b.md", "noext": "noext.md", "d.x/noext": "d.x/noext.md",
		"d/a.HTML": "d/a.md", ".html": ".html.md", "d/.page.html": "d/.page.md", "./a.txt": "./a.md",
	} {
		b := newBench(t, map[string]string{input: "<p>x"})
		result, err := b.call(input)
		require.NoError(t, err, input)
		var got struct{ InputPath, OutputPath string }
		require.NoError(t, json.Unmarshal(result.Structured, &got))
		assert.Equal(t, input, got.InputPath)
		assert.Equal(t, output, got.OutputPath)
		assert.Equal(t, "x\n", b.read(output))
	}
}

func TestAbsolutePath(t *testing.T) {
	b := newBench(t, map[string]string{"a.html": "x"})
	result, err := b.call(b.path("a.html"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a.md"}, result.FilesAffected)
}

func TestEncodings(t *testing.T) {
	for name, text := range map[string]string{
		"UTF-8":       "<p>é€",
		"UTF-8 mark":  "\xef\xbb\xbf<p>é€",
		"meta":        "<meta charset=windows-1252><p>\xe9\x80",
		"UTF-16":      "\xff\xfe<\x00p\x00>\x00\xe9\x00\xac\x20",
		"none":        "<p>\xe9\x80",
		"stored copy": "<meta charset=shift_jis><p>é€",
	} {
		b := newBench(t, map[string]string{"a.html": text})
		_, err := b.call("a.html")
		require.NoError(t, err, name)
		assert.Equal(t, "é€\n", b.read("a.md"), name)
	}
}

func TestEmptyFile(t *testing.T) {
	b := newBench(t, map[string]string{"a.html": ""})
	_, err := b.call("a.html")
	require.NoError(t, err)
	assert.Empty(t, b.read("a.md"))
}

func TestExistingOutputIsReplaced(t *testing.T) {
	b := newBench(t, map[string]string{"a.html": "<p>new", "a.md": "old\n"})
	_, err := b.call("a.html")
	require.NoError(t, err)
	assert.Equal(t, "new\n", b.read("a.md"))
}

func TestPlan(t *testing.T) {
	b := newBench(t, map[string]string{"a.html": "<p>new", "a.md": "old\n", "b.html": "<p>new"})
	planner := b.tool.(tool.Planner)
	plan, err := planner.Plan(t.Context(), params("a.html"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a.md"}, plan.FilesAffected)
	assert.Contains(t, plan.Preview, "-old\n+new\n")
	assert.Equal(t, "old\n", b.read("a.md"))

	plan, err = planner.Plan(t.Context(), params("b.html"))
	require.NoError(t, err)
	assert.Contains(t, plan.Preview, "--- /dev/null\n+++ b/b.md\n")
	assert.NoFileExists(t, b.path("b.md"))
}

func TestErrors(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.md": "# x", "A.MD": "# x", "bin.html": "a\x00b", "kept.html": "x", "dir/x": "",
		"deep.html":  strings.Repeat("<div>", 1000),
		"taken.html": "x", "taken.md/x": "",
	})
	big, err := os.Create(b.path("big.html"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(16<<20+1))
	require.NoError(t, big.Close())
	for path, code := range map[string]tool.Code{
		"": tool.InvalidArgument, "missing.html": tool.NotFound, "dir": tool.IsDirectory,
		"../x.html":  tool.PathOutsideWorkspace,
		"/etc/hosts": tool.PathOutsideWorkspace, "a.md": tool.InvalidArgument, "A.MD": tool.InvalidArgument,
		"bin.html":  tool.BinaryFile,
		"kept.html": tool.PermissionDenied, "big.html": tool.TooLarge, "deep.html": tool.Unsupported,
		"taken.html": tool.IsDirectory,
	} {
		_, err := b.call(path)
		assert.Equal(t, code, tool.CodeOf(err), "%q: %v", path, err)
		if err != nil {
			assert.NotEmpty(t, tool.AsError(err).Suggestion, path)
		}
		if code == tool.PathOutsideWorkspace {
			assert.ErrorContains(t, err, path+" is outside", "the path that was given, not that of the Markdown file")
		}
		_, err = b.tool.(tool.Planner).Plan(t.Context(), params(path))
		assert.Equal(t, code, tool.CodeOf(err), "plan of %q: %v", path, err)
	}
}

func TestDefinition(t *testing.T) {
	d := newBench(t, nil).tool.Definition()
	assert.Equal(t, "html_to_markdown", d.Name)
	assert.Equal(t, tool.SafeWrite, d.Risk)
	assert.Contains(t, d.Description, "Returns:")
	s, err := schema.Compile(d.Parameters)
	require.NoError(t, err)
	_, _, violations := s.Decode(d.Examples[0].Params)
	assert.Empty(t, violations)
	_, err = schema.Compile(d.Returns)
	require.NoError(t, err)
}
