package attack

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// underWay are git operations stopped at a conflict, and what is planted for when the user continues
// them.
var underWay = map[string]struct{ begin, plant, goOn string }{
	"the strategy of a rebase": {"git rebase -q side", "echo x/evil > .git/rebase-merge/strategy", "rebase"},
	"the strategy, moved": {"git rebase -q side",
		"cp -r .git/rebase-merge r; echo x/evil > r/strategy; mv .git/rebase-merge old && mv r .git/rebase-merge", "rebase"},
	"the options of a cherry-pick": {"git cherry-pick main..side", "printf '[options]\n\tstrategy = x/evil\n' > .git/sequencer/opts",
		"cherry-pick"},
	"the options, replaced": {"git cherry-pick main..side",
		"printf '[options]\n\tstrategy = x/evil\n' > o; mv o .git/sequencer/opts; git config -f .git/sequencer/opts options.strategy x/evil",
		"cherry-pick"},
	"the options of an am": {"git format-patch -q -o p main..side; git am -q p/*",
		`echo " '--build-fake-ancestor=PWNED'" > .git/rebase-apply/apply-opt`, "am"},
}

// TestWhatAnOperationGoesOnWith has a command change the files from which a continued git operation
// takes programs and options.
func TestWhatAnOperationGoesOnWith(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	testneed.Program(t, "git")
	const evil = "mkdir -p git-merge-x; printf '#!/bin/sh\ntouch PWNED\nexit 1\n' > git-merge-x/evil; chmod +x git-merge-x/evil; "
	goOn := func(a *arena, operation string) []violation {
		a.asUser("echo d > ok.txt; git add ok.txt; git " + operation + " --continue; true")
		return a.status()
	}
	begin := func(t *testing.T, s stance, begin string) *arena {
		a := newArenaFor(t, s, nil)
		a.repositoryIn(a.ws)
		a.shellIn(a.ws, "git branch -M main; git config user.name n; git config user.email e; git config core.editor true\n"+
			"git checkout -qb side; echo b > ok.txt; git commit -qam b; echo b > b; git add b; git commit -qm b2\n"+
			"git checkout -q main; echo c > ok.txt; git commit -qam c; echo c > c; git add c; git commit -qm c2\n"+
			"! ( "+begin+" ) >/dev/null 2>&1")
		a.write(a.ws, "agent.hcl", planting+s.block(), 0o644)
		a.arm()
		return a
	}
	for name, c := range underWay {
		for _, s := range stances() {
			t.Run(s.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				tally.note(tally.cases, "protect", s.String()+" an operation goes on: "+name)
				a := begin(t, s, c.begin)
				r := a.cli(nil, "", "plant", planted(t, evil+c.plant))
				require.FileExists(t, filepath.Join(a.ws, "git-merge-x/evil"), "%s", r.said)
				assert.Empty(t, goOn(a, c.goOn), "%s", r.said)
				for _, file := range []string{"b", "c"} { // each branch's second commit
					assert.FileExists(t, filepath.Join(a.ws, file), "the operation went on")
				}
			})
		}
		a := begin(t, usual(), c.begin)
		a.asUser(evil + c.plant + "; true")
		control(t, "protect", "an operation goes on: "+name, checkWhole, goOn(a, c.goOn))
	}
}
