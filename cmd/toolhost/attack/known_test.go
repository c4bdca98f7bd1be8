package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// known are attacks that once worked, their present tests, and the control. A test without a directory
// is in this package, and runs at each level and user of stances() unless the entry says otherwise.
var known = []struct{ attack, tests, control string }{
	{"1 the root becomes a bare repository", "TestWhatIsPlantedForOthers", "the same script unconfined"},
	{"2 write_file makes a bare repository", "TestFileToolsMakeNoRepository", "another file is written"},
	{"3 .git/commondir is planted between calls", "TestWhatIsPlantedLater", "TestWhatIsPlantedForOthers"},
	{"4 a reviewed call plants", "TestWhatIsPlantedForOthers", "as 1; at level full, which has reviews"},
	{"5 an allowed directory is planted in", "TestWhatIsPlantedForOthers", "as 1"},
	{"6 a cache is shared by blocks with other grants", "TestGrantsAreNotLent " +
		"internal/run/sandbox:TestGrantedCachesAreNotLent", "each way unconfined"},
	{"7 a tenant names a repository by ..", "fleet/internal/gateway:TestRepositories", "the same table; no level"},
	{"8 a change by a magic link is not recorded",
		"TestUndoOfByways internal/store/effects:TestByways", "the same unconfined"},
	{"9 a pipe stops an undo", "TestUndoOfByways internal/store/effects:TestUndoLeavesPipes", "the same unconfined"},
	{"10 a path in secret memory", "TestUndoOfByways internal/store/effects:TestByways", "the same unconfined"},
	{"11 a directory deeper than paths can be",
		"TestUndoOfByways internal/store/effects:TestByways", "the same unconfined"},
	{"12 RENAME_WHITEOUT makes a device", "TestUndoOfByways internal/store/effects:TestByways", "the same unconfined"},
	{"13 the todo of a rebase", "TestWhatIsPlantedForOthers TestWhatIsPlantedLater", "the same script unconfined"},
	{"14 what the configuration of git names",
		"TestWhatIsPlantedForOthers TestWhatIsPlantedLater", "the same script unconfined"},
	{"15 a rule on a path is spelled around",
		"TestRulesAreOnPlaces internal/policy:TestRulesOnPaths", "a file beside it; no level"},
	{"16 a tracked file is called ignored", "TestUndoOfByways internal/store/effects:TestTrackedFilesAreNoBuildOutput",
		"the same unconfined"},
	{"17 secrets in the home directory", "internal/run/sandbox:TestHomeIsAnAllowlist", "without a sandbox; both levels"},
	{"18 a review hides git's objects and what is behind noise",
		"TestShownChangesHideNothing internal/store/review:TestADiffHidesNothing",
		"at level full, which has reviews"},
	{"19 install writes through a link", "cmd/toolhost:TestScript/install", "without the link; no level"},
	// 20 concerned a removed command.
	{"21 undo brings a planted repository back", "TestUndoBringsNothingThatGitHeeds", "named by --path"},
	{"22 a granted name is taken for a pattern", "TestGrantedNamesAreNames internal/file/workspace:TestProtectedNames",
		"a file beside it"},
	{"23 a file tool writes .envrc and others below the root",
		"TestFileToolsMakeNoRepository", "another file is written"},
	{"24 a grant of a repository lends what git obeys", "TestAGrantOfARepository", "the same unconfined"},
	{"25 a hint proposes the home directory",
		"internal/run/sandbox:TestHintsOpenNothing", "a plain directory; by level full's policy"},
	{"26 modules of Go are fetched with a grant and not seen without",
		"internal/run/sandbox:TestGoModules", "the same table"},
	{"27 trust approves where nobody can be asked", "TestTrustAsksOrRefuses", "with --yes; no level"},
	{"28 ssh is granted by its keys",
		"internal/run/sandbox:TestHintsOpenNothing cmd/toolhost:TestHiddenSocketsAreNamed", "the same table"},
	{"29 another program under the same version of a plugin",
		"cmd/toolhost:TestUpdateUnderTheSameVersion", "with --yes; no level"},
	{"30 a tool refuses what its own script wrote", "TestAToolsOwnFile", "what it runs is compared"},
	{"31 install takes the home directory for the workspace",
		"cmd/toolhost:TestScript/install", "with --workspace; no level"},
	{"32 the program of an agent block plants", "TestWhatIsPlantedLater", "TestWhatIsPlantedForOthers"},
	{"33 a command that is not watched plants", "TestWhatIsPlantedForOthers", "the same script unconfined"},
	{"34 a file tool writes to a granted cache", "TestGrantsAreNotLent", "another file is written"},
	{"35 an operation of git goes on with options of the agent's", "TestWhatAnOperationGoesOnWith", "the same script unconfined"},
	{"37 a block with less lends itself more", "TestWhatOthersLackIsNotLent", "the same unconfined"},
	{"36 a grant of an agent's directory lends the agent", "TestAGrantOfAnAgentsDirectory", "the same script unconfined"},
	{"38 what a protected link leads to is written", "TestProtectWhatLinksLeadTo", "the same script unconfined"},
}

// The tests of each known attack exist.
func TestKnownAttacks(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	texts := make(map[string]string)
	for _, k := range known {
		assert.NotEmpty(t, k.control, k.attack)
		for _, ref := range strings.Fields(k.tests) {
			dir, name, found := strings.Cut(ref, ":")
			if !found {
				dir, name = "cmd/toolhost/attack", ref
			}
			name, script, _ := strings.Cut(name, "/")
			if script != "" {
				assert.FileExists(t, filepath.Join("../../..", dir, "testdata/script", script+".txtar"), k.attack)
			}
			if texts[dir] == "" {
				files, err := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
				require.NoError(t, err)
				for _, file := range files {
					data, err := os.ReadFile(file)
					require.NoError(t, err)
					texts[dir] += string(data)
				}
			}
			assert.Contains(t, texts[dir], "\nfunc "+name+"(t *testing.T) {", k.attack)
		}
	}
}

// A rule on paths is about places, however spelled.
func TestRulesAreOnPlaces(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{"secrets/k": "hidden\n", "docs/x": "shown\n", "docs/y": "gone\n", "keep": "kept\n",
		"agent.hcl": "policy {\n  dangerous  = \"ask\"\n  safe_write = \"ask\"\n" +
			"  rule \"hide\" {\n    tool = \"read_file\"\n    action = \"deny\"\n    paths = [\"secrets/**\"]\n  }\n" +
			"  rule \"docs\" {\n    tool = \"delete_file\"\n    action = \"allow\"\n    paths = [\"docs/**\"]\n  }\n}\n"})
	a.link("secrets", "docs/link")
	a.link("..", "docs/up")
	a.whole["keep"] = []string{"kept\n"}
	a.arm()
	for _, path := range []string{"secrets/k", "./secrets/k", "{WS}/secrets/k", "docs/../secrets/k",
		"docs/link/k", "secrets//k"} {
		r := onCommandLine(t, a, nil, "", attack{group: "args", name: "a rule on paths: " + path, tool: "read_file",
			params: `{"path":"` + path + `"}`})
		assert.True(t, r.failed, path)
		assert.NotContains(t, r.text, "hidden", path)
	}
	for _, path := range []string{"docs/../keep", "docs/up/keep", "{WS}/docs/../keep"} {
		r := onCommandLine(t, a, nil, "", attack{group: "args", name: "a rule on paths allows " + path, tool: "delete_file",
			params: `{"path":"` + path + `"}`})
		assert.True(t, r.failed, path)
	}
	tally.note(tally.controls, "args", "a rule on paths")
	assert.Contains(t, a.cli(nil, "", "read_file", `{"path":"docs/x"}`).text, "shown")
	assert.False(t, a.cli(nil, "", "delete_file", `{"path":"docs/y"}`).failed)
}

// A file whose name has pattern characters is protected, and others that the pattern would match are
// not.
func TestGrantedNamesAreNames(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"scripts/[id].sh": "echo as approved\n", "agent.hcl": planting +
				"tool \"granted\" {\n  description = \"Run.\"\n  network = \"allow\"\n" +
				"  command { argv = [\"sh\", \"scripts/[id].sh\", \"...{chr(107):os[chr(83)]}...\"] }\n}\n" + s.block()})
			a.whole["scripts/[id].sh"] = []string{"echo as approved\n"}
			a.arm()
			for tool, params := range map[string]string{"plant": planted(t, "echo evil > 'scripts/[id].sh'"),
				"write_file": `{"path":"scripts/[id].sh","content":"evil"}`} {
				r := onCommandLine(t, a, nil, "", attack{group: "protect", name: s.String() + " a name with [ by " + tool,
					tool: tool, params: params})
				assert.True(t, r.failed, tool)
			}
			tally.note(tally.controls, "protect", s.String()+" a name that a pattern matches")
			assert.False(t, a.cli(nil, "", "write_file", `{"path":"scripts/i.sh","content":"free"}`).failed)
			assert.Contains(t, a.cli(nil, "", "granted", `{}`).text, "as approved")
		})
	}
}

// Nothing is approved if the user cannot be asked.
func TestTrustAsksOrRefuses(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	a := newArena(t, map[string]string{"agent.hcl": planting})
	a.arm()
	env := []string{unapproved}
	for name, input := range map[string]string{"n": "n\n", "y": "y\n", "nothing": ""} {
		tally.note(tally.cases, "repository", "approve without a terminal: "+name)
		cmd := a.program(env, "trust")
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		assert.Error(t, err, "%s: %s", name, out)
		assert.True(t, a.cli(env, "", "plant", planted(t, "echo ran")).failed, name)
	}
	tally.note(tally.controls, "repository", "approve without a terminal")
	a.approve(a.ws)
	assert.Contains(t, a.cli(env, "", "plant", planted(t, "echo ran")).text, "ran")
}

// A file written by a tool's own script is not one that it runs.
func TestAToolsOwnFile(t *testing.T) {
	testneed.NotShort(t, "one attack of each class stays")
	t.Parallel()
	for _, s := range stances() {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaFor(t, s, map[string]string{"own.sh": "echo as approved\n",
				"agent.hcl": "tool \"log\" {\n  description = \"Run.\"\n  write = [\"../outside\"]\n" +
					"  command { argv = [\"sh\", \"-c\", \"echo hi >> mine.log; sh own.sh; wc -l < mine.log\"] }\n}\n" + s.block()})
			a.hand()
			a.approve(a.ws)
			env := []string{unapproved}
			for _, lines := range []string{"1", "2", "3"} {
				tally.note(tally.cases, "protect", s.String()+" a tool's own file "+lines)
				assert.Contains(t, a.cli(env, "", "log", `{}`).text, lines)
			}
			tally.note(tally.controls, "protect", s.String()+" what a tool runs is compared")
			a.write(a.ws, "own.sh", "echo evil ran\n", 0o644)
			r := a.cli(env, "", "log", `{}`)
			assert.NotContains(t, r.text, "evil ran")
			assert.True(t, r.failed, r.text)
		})
	}
}
