package effects_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What git ignores is kept, except for directories of build output; agent.hcl adds patterns, and revokes
// defaults.
func TestWhatIsIgnored(t *testing.T) {
	each(t, func(a *arena) {
		a.outside(`printf '/target/\n.env\n*.log\ndata\n' >.gitignore; mkdir -p target data build sub/target raw node_modules/x
echo 1 | tee target/o data/f build/f sub/target/o raw/big.iso raw/f node_modules/x/y .env a.log >/dev/null`)
		change := `for f in target/o data/f build/f sub/target/o raw/big.iso raw/f node_modules/x/y .env a.log; do echo 2 >$f; done`
		for _, c := range []struct {
			ignore        []string
			counted, kept string
		}{
			{nil, "node_modules target", ".env a.log build/f data/f raw/big.iso raw/f sub/target/o"},
			{[]string{"*.iso", "/data/"}, "data node_modules raw/big.iso target",
				".env a.log build/f raw/f sub/target/o"},
			{[]string{"!target", "!node_modules", "raw"}, "raw",
				".env a.log build/f data/f node_modules/x/y sub/target/o target/o"},
		} {
			a.ignore = c.ignore
			before := a.tree()
			report := a.sh(change)
			require.NoError(a.t, report.Err)
			var counted []string
			for dir, changes := range report.Ignored {
				counted = append(counted, dir)
				assert.Positive(a.t, changes)
				assert.Contains(a.t, report.Note(), dir+" (")
			}
			assert.ElementsMatch(a.t, strings.Fields(c.counted), counted)
			assert.Equal(a.t, strings.Fields(c.kept), report.Files)
			a.undo()
			after := a.tree()
			for _, file := range strings.Fields(c.kept) {
				assert.Equal(a.t, before[file], after[file], file)
			}
			a.outside(strings.ReplaceAll(change, "echo 2", "echo 1"))
		}
	})
}

// What leaves an ignored directory is kept: its destination, which undo removes, may be the only copy.
func TestMovesOutOfIgnoredDirectories(t *testing.T) {
	each(t, func(a *arena) {
		const made = "echo build >.gitignore; mkdir -p build node_modules/j/k; echo 1 >build/f; echo 2 >node_modules/j/k/f; " +
			"ln -s f node_modules/j/k/l; echo 3 >old"
		for _, c := range []struct{ name, script, files string }{
			{"the directory", "mv node_modules nm", "nm nm/j nm/j/k nm/j/k/f nm/j/k/l node_modules node_modules/j " +
				"node_modules/j/k node_modules/j/k/f node_modules/j/k/l"},
			{"made again", "mv build build.old && mkdir build", "build.old build.old/f build/f"},
			{"a part", "mv node_modules/j/k new", "new new/f new/l node_modules/j/k node_modules/j/k/f node_modules/j/k/l"},
			{"a file, over another", "mv build/f old", "build/f old"},
			{"in two steps", "mv build/f new; mv new old", "build/f old"},
		} {
			a.t.Run(c.name, func(t *testing.T) {
				newArena(t, a.level).thereAndBack(made, c.script, strings.Fields(c.files)...)
			})
		}
	})
}

// A change through an ignored name of a file is one of its other names too.
func TestIgnoredNameOfAFile(t *testing.T) {
	for name, script := range map[string]string{"content": "echo 2 >>node_modules/a", "mode": "chmod 600 node_modules/a"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(a *arena) {
				a.outside("mkdir node_modules; echo 1 >a; chmod 644 a; ln a node_modules/a")
				before := a.tree()["a"]
				assert.Equal(a.t, []string{"a"}, a.sh(script).Files)
				a.undo()
				assert.Equal(a.t, before, a.tree()["a"])
			})
		})
	}
}

// A command cannot make its changes ignored.
func TestACommandIgnoresNothing(t *testing.T) {
	each(t, func(a *arena) {
		a.outside("mkdir build; echo 1 >build/f; echo nothing >.gitignore")
		a.thereAndBack("", "echo build >.gitignore; rm -r build", ".gitignore", "build", "build/f")
	})
}

// A rule made by an earlier call does not turn files that git tracks into build output.
func TestTrackedFilesAreNoBuildOutput(t *testing.T) {
	each(t, func(a *arena) {
		a.outside("git init -q . && mkdir bin && echo 1 >bin/tool && git add bin/tool && echo 2 >bin/tool")
		a.sh("echo /bin >>.git/info/exclude; echo /bin >.gitignore")
		a.thereAndBack("", "rm -r bin", "bin", "bin/tool")
	})
}
