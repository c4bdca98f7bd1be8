package change

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNames(t *testing.T) {
	var many, wide []string
	for i := range 2000 {
		many = append(many, fmt.Sprintf("out/%04d/x", i))
		wide = append(wide, fmt.Sprintf("%04d/x", i))
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{nil, ""},
		{[]string{"a"}, "a"},
		{[]string{"a", "d", "d/b"}, "a, d, d/b"},
		{[]string{".git/HEAD", ".git/index", "a", "sub/.git/x"}, ".git/ (2), a, sub/.git/"},
		{append([]string{"a"}, many...), "a, out/ (2,000)"},
		{wide[:21], "0000/, 0001/, 0002/, 0003/, 0004/, 0005/, 0006/, 0007/, 0008/, 0009/, 0010/, 0011/, 0012/, 0013/, " +
			"0014/, 0015/, 0016/, 0017/, 0018/, 0019/, and 1 more"},
	} {
		assert.Equal(t, c.want, Names(c.paths))
	}
}

func TestSummary(t *testing.T) {
	s := Summary{Paths: 5, Renamed: 1}
	s.CountDiff("--- a\n+++ b\n@@ -1,3 +1,2 @@\n x\n--- a\n-b\n+++ c\n\\ No newline at end of file\n" +
		"--- c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n")
	assert.Equal(t, "5 paths, +1 -3, 1 renamed", s.String())
	assert.Equal(t, "1 path", Summary{Paths: 1}.String())
	s.CountDiff("--- d\n+++ d\n@@ -1 +1 @@\n-(more changes are not shown)\n+x\n")
	assert.False(t, s.Partial)
	s.CountDiff(Cut)
	assert.Equal(t, "5 paths, at least +2 -4, 1 renamed", s.String())
	assert.Equal(t, "1,234,567", Number(1234567))
}
