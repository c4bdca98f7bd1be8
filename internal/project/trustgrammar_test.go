package project

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
)

// grammar is what a block of agent.hcl may hold. It is asked of the reader, so
// that what is added to that is generated, too.
type grammar struct {
	attrs  map[string][]string // the values that the reader takes for each
	blocks map[string]*grammar
	label  []string // labels that it takes; nil where it has none
	free   bool     // takes any attribute
}

// canary is the value of an environment variable that files may ask for.
const canary = "canary-4f1c99b2"

// candidates are values of all kinds, in a form that is JSON, too.
var candidates = strings.Split(strings.TrimSpace(`
"x"
"a.txt"
"sub"
"."
".."
"../outside"
"here"
"here/dir"
"inside"
"all/etc"
"dangling"
"loop"
"chain"
"/"
"/etc"
"~"
"~/.ssh"
"**"
"*.txt"
"pkg/**"
"rm"
"deny"
"ask"
"read_file"
"write_file"
"run_command"
"git push"
"rm *"
"^.*$"
"rm|mv"
"sh"
"-n"
"~> 1.2"
"1.2.0"
"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
"2025-11-25"
"{prompt}"
"file_read"
"file_write"
"shell_exec"
"network"
"30s"
"1ms"
"24h"
"1B"
"64KiB"
"8GiB"
"2099-01-01T00:00:00Z"
"2001-01-01T00:00:00Z"
"https://evil.example/x"
"http://127.0.0.1:1/v1"
"note://x"
"n://{p}"
"image/png"
"application/json"
"${env("CANARY")}"
"x${env("CANARY", "")}y"
"${param.p}"
"[]"
true
false
0
1
4
100000
1.5
[]
["x"]
["sh", "-c", "touch ran"]
["sh", "a.txt"]
["{prompt}"]
["**"]
["sub", "here", "../outside", "/etc", "~", "dangling"]
["here"]
["rm", "read_file", "write_file"]
["read_file"]
["string", "read"]
["rg"]
["127.0.0.1", "10.0.0.0/8", "evil.example"]
["file_read"]
["file_read", "file_write", "network", "shell_exec", "env_read"]
["-n"]
["${env("CANARY")}"]
[0, 1]
{}
{"A": "b", "LD_PRELOAD": "/x.so"}
{"A": "${env("CANARY")}"}
{"rm": "ls"}
{"X-A": "b"}
"aGk="
string
number
list(string)
{"read_file": "write_file"}
{"network": "deny", "file_write": "ask"}
{"network": "allow", "file_write": "allow", "file_read": "allow"}
{"*": "read_only"}
{"p": "x"}
{"type": "object", "properties": {"p": {"type": "string"}}}
`), "\n")

const probe = "zzqqzz"

var wholeGrammar *grammar

// whole is what an agent.hcl may hold, which takes seconds to find out.
func whole(t *testing.T) *grammar {
	t.Helper()
	setCanary(t)
	if wholeGrammar == nil {
		wholeGrammar = explore(t, func(inner string) string { return inner }, 0)
	}
	return wholeGrammar
}

var quoted = regexp.MustCompile(`"[^"]+"`)

// explore asks the reader what fits where wrap puts something.
func explore(t *testing.T, wrap func(string) string, depth int) *grammar {
	t.Helper()
	g := &grammar{attrs: make(map[string][]string), blocks: make(map[string]*grammar), free: true}
	for _, d := range read(wrap(probe + " = 1\n")) {
		if !strings.Contains(d.Detail, probe) || d.Summary != "Unknown attribute" {
			continue
		}
		g.free = false
		for part := range strings.SplitSeq(strings.TrimSuffix(d.Suggestion, "."), "; ") {
			kind, list, _ := strings.Cut(part, ": ")
			for name := range strings.SplitSeq(list, ", ") {
				switch strings.ToLower(kind) {
				case "attributes":
					g.attrs[name] = fitting(wrap, name)
				case "blocks":
					g.blocks[name] = nil
				}
			}
		}
	}
	require.False(t, g.free && depth == 0, "the reader does not say what a file may hold")
	if _, wraps := g.attrs["option_style"]; wraps {
		g.blocks["option"] = nil // the only block that no schema lists: it has any number of labels
	}
	for name := range g.blocks {
		g.blocks[name] = exploreBlock(t, wrap, name, depth+1)
	}
	return g
}

// without has what a block must hold for the reader to look at what else it
// holds.
var without = map[string]string{"resource": "uri = \"n://{p}\"\n"}

// exploreBlock finds the labels that a block takes, and what it holds.
func exploreBlock(t *testing.T, wrap func(string) string, name string, depth int) *grammar {
	t.Helper()
	if depth > 6 {
		return &grammar{}
	}
	var label []string
	for _, try := range []string{"", "p", "edit_file", "-n"} {
		header := name
		if try != "" {
			header += fmt.Sprintf(" %q", try)
		}
		refused := false
		for _, d := range read(wrap(header + " {\n}\n")) {
			refused = refused || strings.Contains(d.Summary, "label") || strings.Contains(d.Summary, "name for") ||
				d.Summary == "Unknown builtin" || d.Summary == "Not an option" || d.Summary == "Option without a name"
		}
		if refused {
			continue
		}
		if try == "" {
			return explore(t, func(inner string) string { return wrap(name + " {\n" + inner + "}\n") }, depth)
		}
		label = append(label, try)
	}
	require.NotEmpty(t, label, "no label fits block %s", name)
	g := explore(t, func(inner string) string {
		return wrap(fmt.Sprintf("%s %q {\n%s%s}\n", name, label[0], without[name], inner))
	}, depth)
	g.label = label
	return g
}

// fitting picks the values that the reader takes for an attribute. What it says
// is possible is tried as well.
func fitting(wrap func(string) string, name string) (fit []string) {
	said := make(map[string]bool)
	var perhaps []string // refused for what else is missing
	try := func(value string) {
		src := wrap(name + " = " + value + "\n")
		line := 1 + strings.Count(src[:strings.LastIndex(src, name+" = "+value)], "\n")
		for _, d := range read(src) {
			if d.Line != line || d.Severity != "error" {
				continue
			}
			for _, word := range quoted.FindAllString(d.Suggestion, -1) {
				said[word] = true
			}
			if d.Summary != "Wrong type" {
				perhaps = append(perhaps, value)
			}
			return
		}
		fit = append(fit, value)
	}
	for _, value := range candidates {
		try(value)
	}
	if len(fit) == 0 || name == "rename" {
		fit = append(fit, perhaps...)
	}
	for _, value := range slices.Sorted(maps.Keys(said)) {
		if !slices.Contains(fit, value) {
			fit = append(fit, value)
		}
	}
	return fit
}

func read(src string) config.Diagnostics {
	_, diags := config.Parse("agent.hcl", []byte(src), config.LoadOptions{})
	return diags
}

// item is an attribute with its value, or a block.
type item struct {
	name, value, label string
	of                 *grammar // nil for an attribute
	in                 []*item
	kept               bool // is not left out
	line               int
}

// hcl writes items, and notes the line of each.
func hcl(items []*item) string {
	var b strings.Builder
	line := 0
	writeHCL(&b, items, &line)
	return b.String()
}

func writeHCL(b *strings.Builder, items []*item, line *int) {
	put := func(format string, args ...any) {
		fmt.Fprintf(b, format+"\n", args...)
		*line++
	}
	for _, i := range items {
		i.line = *line + 1
		if i.of == nil {
			put("%s = %s", i.name, i.value)
			continue
		}
		if i.label == "" {
			put("%s {", i.name)
		} else {
			put("%s %q {", i.name, i.label)
		}
		writeHCL(b, i.in, line)
		put("}")
	}
}

// asJSON writes items in the JSON syntax.
func asJSON(items []*item) string {
	var names []string
	all := make(map[string][]string)
	for _, i := range items {
		value := i.value
		if i.of != nil {
			if value = asJSON(i.in); i.label != "" {
				value = fmt.Sprintf("{%q: %s}", i.label, value)
			}
		}
		if !slices.Contains(names, i.name) {
			names = append(names, i.name)
		}
		all[i.name] = append(all[i.name], value)
		if i.of == nil {
			all[i.name] = []string{value}
		}
	}
	parts := make([]string, len(names))
	for i, name := range names {
		value := strings.Join(all[name], ", ")
		if bare.MatchString(value) {
			value = strconv.Quote(value)
		}
		if len(all[name]) > 1 {
			value = "[" + value + "]"
		}
		parts[i] = fmt.Sprintf("%q: %s", name, jsonTemplates.Replace(value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// bare are the words of the syntax, which are texts in JSON.
var bare = regexp.MustCompile(`^(string|number|list\(string\))$`)

// jsonTemplates escapes the quotes in templates.
var jsonTemplates = strings.NewReplacer(`env("CANARY", "")`, `env(\"CANARY\", \"\")`, `env("CANARY")`,
	`env(\"CANARY\")`)

// generator makes random files that the reader takes.
type generator struct {
	*rand.Rand
	top    *grammar
	labels int
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// block makes a block, each of whose parts is there with the given chance.
func (g *generator) block(name string, of *grammar, chance float64) *item {
	b := &item{name: name, of: of}
	if len(of.label) > 0 {
		b.label = g.newLabel(of)
	}
	for _, attr := range slices.Sorted(maps.Keys(of.attrs)) {
		if len(of.attrs[attr]) > 0 && g.Float64() < chance {
			b.in = append(b.in, &item{name: attr, value: pick(g.Rand, of.attrs[attr])})
		}
	}
	for _, inner := range slices.Sorted(maps.Keys(of.blocks)) {
		for range 2 {
			if g.Float64() < chance*0.7 {
				b.in = append(b.in, g.block(inner, of.blocks[inner], chance))
			}
		}
	}
	if of.free && g.Float64() < 0.7 {
		b.in = append(b.in, &item{name: "free", value: pick(g.Rand, candidates)})
	}
	return b
}

func (g *generator) newLabel(of *grammar) string {
	if len(of.label) < 2 || !slices.Contains(of.label, "p") {
		return of.label[0]
	}
	if g.labels++; g.Float64() < 0.5 {
		return "p"
	}
	return fmt.Sprintf("n%d", g.labels%5)
}

// repair changes items until the reader takes them.
func (g *generator) repair(items []*item) ([]*item, bool) {
	for range 20 {
		diags := read(hcl(items))
		if !diags.HasErrors() {
			return items, true
		}
		for _, d := range diags {
			if d.Severity == "error" {
				items = g.adjust(items, g.top, d)
			}
		}
	}
	return nil, false
}

// adjust makes one random change about a diagnostic: adds what it names, gives an
// attribute another value, or leaves something out.
func (g *generator) adjust(items []*item, of *grammar, d config.Diagnostic) []*item {
	for n, i := range items {
		if i.of != nil {
			i.in = g.adjust(i.in, i.of, d)
		}
		if i.line != d.Line {
			continue
		}
		i.line = 0
		switch {
		case i.of != nil && g.IntN(3) > 0 && g.add(&i.in, i.of, d.Suggestion):
		case i.of == nil && g.IntN(3) == 0 && g.add(&items, of, d.Suggestion):
		case i.of == nil && len(of.attrs[i.name]) > 0 && g.IntN(2) == 0:
			i.value = pick(g.Rand, append(quoted.FindAllString(d.Suggestion, -1), pick(g.Rand, of.attrs[i.name])))
		case !i.holdsKept():
			return slices.Delete(slices.Clone(items), n, n+1)
		default: // it may be another one that is out of place
			if other := g.IntN(len(items)); !items[other].holdsKept() {
				return slices.Delete(slices.Clone(items), other, other+1)
			}
		}
		return items
	}
	return items
}

func (i *item) holdsKept() bool {
	return i.kept || slices.ContainsFunc(i.in, (*item).holdsKept)
}

// add adds something that a suggestion names.
func (g *generator) add(to *[]*item, of *grammar, suggestion string) bool {
	words := strings.FieldsFunc(suggestion, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	words = slices.DeleteFunc(words,
		func(word string) bool { return len(of.attrs[word]) == 0 && of.blocks[word] == nil })
	if len(words) == 0 {
		return false
	}
	word := pick(g.Rand, words)
	made := &item{name: word}
	if values := of.attrs[word]; len(values) > 0 {
		made.value = pick(g.Rand, values)
		if _, exact, ok := strings.Cut(suggestion, word+` = "`); ok {
			exact, _, _ = strings.Cut(exact, `"`)
			made.value = strconv.Quote(exact)
		}
		*to = slices.DeleteFunc(slices.Clone(*to), func(i *item) bool { return i.name == word && !i.kept })
	} else {
		made = g.block(word, of.blocks[word], 0.2)
	}
	*to = append(slices.Clone(*to), made)
	return true
}

// setCanary has the environment hold what files may ask for.
func setCanary(t *testing.T) {
	t.Helper()
	t.Setenv("CANARY", canary)
	require.Equal(t, canary, os.Getenv("CANARY"))
}
