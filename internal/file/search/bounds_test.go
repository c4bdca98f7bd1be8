package search_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/search"
)

// TestMaxBytesBoundsTheResults pages through a search by size: each result
// comes once, and the total is always right.
func TestMaxBytesBoundsTheResults(t *testing.T) {
	files := map[string]string{"b.txt": strings.Repeat("hit\n", 3)}
	for i := range 40 {
		files[fmt.Sprintf("a/%02d.txt", i)] = strings.Repeat("no\nhit here\n", i)
	}
	each(t, files, func(t *testing.T, s *search.Searcher) {
		for _, mode := range []search.Mode{search.Lines, search.Files, search.Counts} {
			for _, context := range []int{0, 2} {
				q := search.Query{Pattern: "hit", Mode: mode, Before: context, After: context}
				whole := grep(t, s, q)
				assert.False(t, whole.Full)
				results := len(whole.Lines) + len(whole.Files)
				q.MaxBytes = 2000
				var lines []search.Match
				var names []search.File
				pages := 0
				for q.Offset < results {
					m := grep(t, s, q)
					require.NotZero(t, len(m.Lines)+len(m.Files), "the first is always given")
					lines, names = append(lines, m.Lines...), append(names, m.Files...)
					q.Offset += len(m.Lines) + len(m.Files)
					assert.Equal(t, whole.Total, m.Total)
					assert.Equal(t, q.Offset < results, m.Truncated, "offset %d", q.Offset)
					assert.Equal(t, q.Offset < results, m.Full, "offset %d", q.Offset)
					pages++
				}
				assert.Greater(t, pages, 1)
				assert.Equal(t, whole.Lines, append([]search.Match(nil), lines...), "mode %d", mode)
				assert.Equal(t, whole.Files, append([]search.File(nil), names...), "mode %d", mode)
			}
		}
	})
}

func TestMaxBytesAndMax(t *testing.T) {
	each(t, map[string]string{"a": strings.Repeat("hit\n", 50), "b": strings.Repeat("hit\n", 50)},
		func(t *testing.T, s *search.Searcher) {
			for _, c := range []struct {
				max, offset, bytes int
				want               int
				full               bool
			}{
				{10, 0, 100_000, 10, false},
				{10, 45, 100_000, 10, false},
				{10, 95, 100_000, 5, false},
				{0, 49, 100_000, 51, false},
				{0, 200, 100_000, 0, false},
				{90, 0, 700, 10, true},
				{90, 55, 700, 10, true},
				{0, 0, 1, 1, true},
				{0, 99, 1, 1, false},
			} {
				m := grep(t, s, search.Query{Pattern: "hit", Max: c.max, Offset: c.offset, MaxBytes: c.bytes})
				assert.Len(t, m.Lines, c.want, "%+v", c)
				assert.Equal(t, c.full, m.Full, "%+v", c)
				assert.Equal(t, 100, m.Total, "%+v", c)
				assert.Equal(t, c.offset+c.want < 100, m.Truncated, "%+v", c)
				for i, line := range m.Lines {
					n := c.offset + i
					assert.Equal(t, search.Match{Path: "ab"[n/50 : n/50+1], Line: n%50 + 1, Text: "hit"}, line, "%+v",
						c)
				}
			}
		})
}

// Every line matches, with more context than there is: without a bound memory
// would be quadratic in the file's size.
func TestMaxBytesBoundsMemory(t *testing.T) {
	each(t, map[string]string{"a": strings.Repeat("hit\n", 20_000), "b": strings.Repeat("hit\n", 20_000)},
		func(t *testing.T, s *search.Searcher) {
			for _, offset := range []int{0, 30_000} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				m := grep(t, s,
					search.Query{Pattern: "hit", Before: 1000, After: 1000, MaxBytes: 1 << 20, Offset: offset})
				runtime.ReadMemStats(&after)
				assert.Equal(t, 40_000, m.Total)
				assert.True(t, m.Full)
				assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), "bytes allocated with offset %d",
					offset)
			}
		})
}

func TestMaxLineShowsThePartThatMatches(t *testing.T) {
	const most = 60
	long := strings.Repeat("é", 200)
	for _, c := range []struct{ name, line, want string }{
		{"short", "a needle", "a needle"},
		{"of just the length", strings.Repeat("x", most-6) + "needle", strings.Repeat("x", most-6) + "needle"},
		{"at the beginning", "needle" + long,
			"needle" + strings.Repeat("é", 27) + " [... 346 more bytes in this line]"},
		{"in the middle", long + "needle" + long,
			"[... 374 bytes] " + strings.Repeat("é", 13) + "needle" + strings.Repeat("é", 13) +
				" [... 374 more bytes in this line]"},
		{"at the end", long + "needle", "[... 346 bytes] " + strings.Repeat("é", 27) + "needle"},
		{"no UTF-8", strings.Repeat("\xff", 200) + "needle", "[... 146 bytes] \uFFFDneedle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			context := strings.Repeat("y", most) + "zz"
			each(t, map[string]string{"a.txt": context + "\n" + c.line + "\r\n" + context + "\n"},
				func(t *testing.T, s *search.Searcher) {
					m := grep(t, s, search.Query{Pattern: "needle", MaxLine: most, Before: 1, After: 1})
					require.Len(t, m.Lines, 1)
					assert.Equal(t, c.want, m.Lines[0].Text)
					shown := []string{strings.Repeat("y", most) + " [... 2 more bytes in this line]"}
					assert.Equal(t, shown, m.Lines[0].Before)
					assert.Equal(t, shown, m.Lines[0].After)
					assert.True(t, utf8.ValidString(m.Lines[0].Text))
				})
		})
	}
}
