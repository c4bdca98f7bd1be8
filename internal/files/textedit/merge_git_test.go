package textedit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/testneed"
)

type triple struct{ base, ours, theirs string }

// randomTriple is a text with two changed versions. Endings are LF, CR LF or
// both, and the last line may have none.
func randomTriple(r *rand.Rand, size, edits, fresh int) triple {
	base := randomLines(r, r.IntN(size+1), fresh)
	ours, theirs := mutate(r, base, r.IntN(edits+1), fresh), mutate(r, base, r.IntN(edits+1), fresh)
	if r.IntN(4) == 0 { // alike in part
		ours = mutate(r, theirs, r.IntN(3), fresh)
	}
	style := r.IntN(6)
	text := func(lines []string) string {
		var b strings.Builder
		for i, line := range lines {
			b.WriteString(line)
			switch {
			case i == len(lines)-1 && r.IntN(3) == 0:
			case style == 0 || style == 1 && r.IntN(2) == 0:
				b.WriteString("\r\n")
			default:
				b.WriteString("\n")
			}
		}
		return b.String()
	}
	return triple{text(base), text(ours), text(theirs)}
}

// gitMerges has git merge-file merge all triples, and gives the results and how
// many conflicts it says that there are.
func gitMerges(t *testing.T, triples []triple) (texts []string, conflicts []int) {
	t.Helper()
	git := testneed.Program(t, "git")
	dir := t.TempDir()
	for i, c := range triples {
		paths := []string{filepath.Join(dir, "ours"), filepath.Join(dir, "base"), filepath.Join(dir, "theirs")}
		for j, text := range []string{c.ours, c.base, c.theirs} {
			require.NoError(t, os.WriteFile(paths[j], []byte(text), 0o600))
		}
		cmd := exec.Command(git, append([]string{"merge-file", "-p", "-q", "-L", "one", "-L", "base", "-L", "other"},
			paths...)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
		out, err := cmd.Output()
		if err != nil {
			require.Positive(t, cmd.ProcessState.ExitCode(), "triple %d: %v", i, err)
		}
		texts, conflicts = append(texts, string(out)), append(conflicts, cmd.ProcessState.ExitCode())
	}
	return texts, conflicts
}

func TestMergeIsGits(t *testing.T) {
	testneed.NotShort(t, "compares with git for seconds")
	for i, c := range []struct{ n, size, edits, fresh int }{
		{400, 8, 2, 0}, {400, 12, 4, 30}, {400, 30, 4, 0}, {400, 30, 6, 60}, {300, 80, 8, 90}, {200, 300, 20, 50},
		{100, 1500, 60, 80}, {10, 6000, 900, 40}, {10, 6000, 900, 0},
	} {
		t.Run(fmt.Sprintf("size=%d,edits=%d,fresh=%d", c.size, c.edits, c.fresh), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 18))
			triples := make([]triple, c.n)
			for j := range triples {
				triples[j] = randomTriple(r, c.size, c.edits, c.fresh)
			}
			texts, counts := gitMerges(t, triples)
			conflicting := 0
			for j, tr := range triples {
				got, conflicts := Merge([]byte(tr.base), []byte(tr.ours), []byte(tr.theirs), Labels{"one", "other"})
				if !assert.Equal(t, texts[j], string(got), "triple %d\nbase: %q\nours: %q\ntheirs: %q", j, trunc(tr.base),
					trunc(tr.ours), trunc(tr.theirs)) || !assert.Equal(t, counts[j], min(conflicts, 127), "triple %d", j) {
					t.FailNow()
				}
				conflicting += min(conflicts, 1)
			}
			assert.NotZero(t, conflicting)
			if c.edits < 20 {
				assert.Less(t, conflicting, c.n)
			}
		})
	}
}

func TestMergeEnds(t *testing.T) {
	testneed.NotShort(t, "compares with git for seconds")
	versions := []string{"", "a", "a\n", "a\r\n", "b\n", "a\nb", "a\nb\n", "b\na\n", "\n", "\r\n", "a\r\nb\r\n", "a\r\nc"}
	var triples []triple
	for _, base := range versions {
		for _, ours := range versions {
			for _, theirs := range versions {
				triples = append(triples, triple{base, ours, theirs})
			}
		}
	}
	texts, _ := gitMerges(t, triples)
	for i, tr := range triples {
		got, _ := Merge([]byte(tr.base), []byte(tr.ours), []byte(tr.theirs), Labels{"one", "other"})
		assert.Equal(t, texts[i], string(got), "%q", tr)
	}
}
