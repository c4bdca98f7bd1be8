package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Small windows have the same results as a whole text.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(strings.Repeat("x", r.IntN(30)))
			b.WriteString([]string{"hit", "", "a hit", "é"}[r.IntN(4)] + "\n")
		}
		text := strings.TrimSuffix(b.String(), "\n")
		q := Query{Pattern: []string{"hit", "^a?", "h.t$"}[r.IntN(3)], Before: r.IntN(3), After: r.IntN(3),
			Mode: Mode(r.IntN(3)), Max: r.IntN(5) * r.IntN(10)}
		p, err := compile(q)
		require.NoError(t, err)
		whole, parts := fileHits{path: "f"}, fileHits{path: "f"}
		(&input{text: []byte(text), query: q, pattern: p}).search(&whole)

		w := &worker{job: &job{Query: q, pattern: p}}
		head := min(len(text), 1+r.IntN(50))
		require.True(t, w.searchWindows([]byte(text[:head]), strings.NewReader(text[head:]), &parts))
		require.Equal(t, whole, parts, "%d %+v %q", i, q, text)
	}
}

func TestWindowsOfOtherKinds(t *testing.T) {
	p, err := compile(Query{Pattern: "hit"})
	require.NoError(t, err)
	run := func(text string) fileHits {
		found := fileHits{}
		w := &worker{job: &job{Query: Query{Pattern: "hit"}, pattern: p}}
		require.True(t, w.searchWindows([]byte(text[:8]), strings.NewReader(text[8:]), &found))
		return found
	}
	assert.Zero(t, run("hit\nhit\nhit\nnow\x00\nhit").count, "binary")
	assert.Equal(t, 2, run("\xef\xbb\xbfhit\nhit\n").count)
	assert.Equal(t, 1, run("\xff\xfeh\x00i\x00t\x00\n\x00h\x00").count)
}

func TestFinder(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    string
		exact   bool
	}{
		{"needle", "needle", true}, {"TODO|FIXME", "TODO FIXME", true}, {"(?i)Needle", "needle", true},
		{"(?i)kiosk", "io", false},
		{"return|repeat", "turn peat", false}, {`foo\(.*\)`, "foo(", false}, {`\w+ing`, "ing", false},
		{"(abc)+", "abc", true}, {"a{3}", "a", false},
		{"x*", "", false}, {"a|.", "", false}, {"^abc$", "abc", false}, {"(?i)kks", "", false},
		{"ab?cde", "cde", false}, {"(?i)été", "t", false},
	} {
		p, err := compile(Query{Pattern: c.pattern})
		require.NoError(t, err)
		var texts []string
		if p.need != nil {
			for _, n := range p.need.needles {
				texts = append(texts, string(n.text))
			}
		}
		assert.Equal(t, c.want, strings.Join(texts, " "), c.pattern)
		assert.Equal(t, c.exact, p.exact, c.pattern)
	}
}

// The finder is compared with a check of every position.
func TestFinderFindsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		text := make([]byte, r.IntN(80))
		for i := range text {
			text[i] = "abAB\n"[r.IntN(5)]
		}
		f := &finder{}
		for range 1 + r.IntN(3) {
			n := needle{fold: r.IntN(2) == 0}
			for range 1 + r.IntN(3) {
				n.text = append(n.text, "ab"[r.IntN(2)])
			}
			f.needles = append(f.needles, n)
		}
		scan := f.scan(text)
		for from := 0; from < len(text); from += 1 + r.IntN(4) {
			require.Equal(t, firstOf(f, text, from), scan.next(from), "%q %v from %d", text, f.needles, from)
		}
	}
}

func firstOf(f *finder, text []byte, from int) int {
	for at := from; at < len(text); at++ {
		for _, n := range f.needles {
			rest := text[at:]
			if n.fold {
				rest = bytes.ToLower(rest)
			}
			if bytes.HasPrefix(rest, n.text) {
				return at
			}
		}
	}
	return -1
}

func TestTypes(t *testing.T) {
	for name, want := range map[string]string{
		"go": "*.go", "rust": "*.rs", "rs": "*.rs", "GO": "*.go", ".tsx": "*.tsx", "c": "*.[chH] *.[chH].in *.cats",
		"a*b": `*.a\*b`,
	} {
		assert.Equal(t, want, strings.Join(globsOf(name), " "), name)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`(?i)a.*[^\n]\b\B^$\z|x{2}`, "A line\xff é")
	f.Fuzz(func(t *testing.T, text, line string) {
		p, err := compile(Query{Pattern: text})
		if err != nil {
			return
		}
		line, _, _ = strings.Cut(line, "\n")
		in := &input{text: []byte(line), query: Query{Mode: Counts}, pattern: p}
		found := fileHits{}
		in.search(&found)
		want := line != "" && !strings.Contains(line, "\x00") && p.matches(trimCR([]byte(line)))
		assert.Equal(t, want, found.count == 1, fmt.Sprintf("%q in %q", text, line))
	})
}
