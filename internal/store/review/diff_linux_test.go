package review_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Only git's objects are left out of the diff, and no name adds a line to it.
func TestADiffHidesNothing(t *testing.T) {
	a := newArena(t)
	object := "x/.git/objects/aa/" + strings.Repeat("0", 38)
	removed := "x/.git/objects/aa/" + strings.Repeat("1", 38)
	for script, want := range map[string]string{
		"printf '\\001\\377' >" + object: "1 new objects of git are not shown\n",
		"rm " + removed:                  "REMOVED: 1 objects of git",
		"for n in 1 2 3 4 5 6 7 8 9 10; do yes noise | head -c 900000 >x/a$n; done; echo payload >x/zzz": "+payload",
		"echo payload >" + object:                          "+payload",
		"echo payload >x/.git/objects/aa/run":              "+payload",
		"cp /bin/true " + object:                           "new file: " + object,
		"printf '\\377' >x/.git/objects/aa/run":            "x/.git/objects/aa/run",
		"ln -s payload " + object:                          "+payload",
		"printf payload >\"$(printf 'a\\nno change\\n')\"": `new file: "a\nno change"`,
	} {
		a.outside("rm -rf x; mkdir -p x/.git/objects/aa; printf '\\001\\377' >" + removed)
		diff := a.try(script).Diff()
		assert.Contains(t, diff, want, script)
		assert.NotContains(t, strings.Split(diff, "\n"), "no change", script)
	}
}
