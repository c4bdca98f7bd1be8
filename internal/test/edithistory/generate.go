package edithistory

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

type generator struct {
	r    *rand.Rand
	opts Options
	made int
}

// vocabulary are frequent lines, so that much matches in several ways.
var vocabulary = [...]string{
	"", "", "}", "\t}", "func f() {", "\treturn nil", "\tif x {", "        spaces", "trailing  ", "--- a/x", "+++ b/x",
	"@@ -1,2 +1,2 @@", "-minus", "+plus", `\ No newline at end of file`, "日本語", "cafe\u0301 nfd", "caf\u00e9 nfc",
	`back\tslash "quote" $1 $&`,
}

// names are file names that need quoting or are easily misread.
var names = [...]string{"a b", "tab\there", `quo"te`, `back\slash`, "ünï", "cafe\u0301", "new\nline", "日本 x",
	"sp ace/b/d.txt", "b/a/x", "dev/null"}

func (g *generator) trees() []map[string]File {
	tree := map[string]File{}
	for range 6 {
		tree[g.name()] = File{g.content(), "100644"}
	}
	list := []map[string]File{tree}
	for len(list) < g.opts.Commits {
		tree = maps.Clone(tree)
		for range 1 + g.r.IntN(3) {
			g.step(tree)
		}
		list = append(list, tree)
	}
	return list
}

func (g *generator) name() string {
	g.made++
	if g.opts.Tree && g.r.IntN(2) == 0 {
		return fmt.Sprintf("d%d/%s", g.made, names[g.r.IntN(len(names))])
	}
	return fmt.Sprintf("dir%d/file%d.txt", g.made%3, g.made)
}

func (g *generator) step(tree map[string]File) {
	paths := slices.Sorted(maps.Keys(tree))
	name := paths[g.r.IntN(len(paths))]
	f := tree[name]
	kind := 0
	if g.opts.Tree {
		kind = g.r.IntN(12)
	}
	switch {
	case kind == 11:
		tree[g.name()] = File{g.content(), "100644"}
	case kind == 10 && len(tree) > 3:
		delete(tree, name)
	case kind == 9:
		delete(tree, name)
		tree[g.name()] = g.edited(f)
	case kind == 8:
		tree[g.name()] = g.edited(f)
	case kind == 7:
		f.Mode = map[string]string{"100644": "100755", "100755": "100644"}[f.Mode]
		tree[name] = f
	default:
		f.Data = g.edit(f.Data)
		tree[name] = f
	}
}

func (g *generator) edited(f File) File {
	if g.r.IntN(2) == 0 {
		f.Data = g.edit(f.Data)
	}
	return f
}

func (g *generator) line() string {
	switch n := g.r.IntN(10); {
	case n < 4:
		return vocabulary[g.r.IntN(len(vocabulary))]
	case n == 4 && g.opts.Bytes:
		return "caf\xe9 \xff\xfe"
	default:
		return fmt.Sprintf("%sline %d", strings.Repeat("\t", g.r.IntN(3)), g.r.IntN(10000))
	}
}

// content returns a file with LF, CRLF or mixed endings, with or without a last one.
func (g *generator) content() []byte {
	style := g.r.IntN(3)
	var b bytes.Buffer
	for range g.r.IntN(60) {
		b.WriteString(g.line() + g.ending(style))
	}
	if g.r.IntN(3) == 0 {
		b.WriteString(g.line())
	}
	return b.Bytes()
}

func (g *generator) ending(style int) string {
	if style == 1 || style == 2 && g.r.IntN(2) == 0 {
		return "\r\n"
	}
	return "\n"
}

// style chooses the endings of inserted lines. Only patches, which a tree's
// history is for, can bring other endings into a file of one kind.
func (g *generator) style(data []byte) int {
	breaks := bytes.Count(data, []byte("\r\n"))
	switch {
	case breaks == 0:
		return 0
	case !g.opts.Tree && breaks == bytes.Count(data, []byte("\n")):
		return 1
	}
	return 1 + g.r.IntN(2)
}

func (g *generator) edit(data []byte) []byte {
	lines := strings.SplitAfter(string(data), "\n")
	style := g.style(data)
	for range 1 + g.r.IntN(4) {
		at := g.r.IntN(len(lines))
		remove := min(g.r.IntN(4), len(lines)-1-at)
		var fresh []string
		for range g.r.IntN(4) {
			fresh = append(fresh, g.line()+g.ending(style))
		}
		lines = slices.Replace(lines, at, at+remove, fresh...)
	}
	if g.r.IntN(6) == 0 {
		lines[len(lines)-1] = map[bool]string{true: g.line(), false: ""}[g.r.IntN(2) == 0]
	}
	return []byte(strings.Join(lines, ""))
}

// stream writes the trees in the format of git fast-import.
func stream(trees []map[string]File) []byte {
	var b bytes.Buffer
	for i, tree := range trees {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter T <t@example.com> %d +0000\ndata 1\nx\ndeleteall\n",
			1_700_000_000+i)
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", tree[name].Mode, quote(name), len(tree[name].Data),
				tree[name].Data)
		}
	}
	return b.Bytes()
}

func quote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(name) + `"`
}
