package project

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/agentfile"
	"github.com/toolhost/toolhost/internal/testneed"
	"github.com/toolhost/toolhost/internal/trust"
)

// Variables of the environment for a longer run, as make trustfuzz sets them.
const (
	fuzzFiles = "TOOLHOST_TRUST_FILES"
	fuzzSeed  = "TOOLHOST_TRUST_SEED"
)

// TestTrustDecision compares runs with a random agent.hcl that nobody has
// approved to runs without it: what is in force differs in nothing, or is
// stricter.
func TestTrustDecision(t *testing.T) {
	testneed.NotShort(t, "wants the whole grammar seen")
	files, seed := setting(t, fuzzFiles, 400), setting(t, fuzzSeed, 1)
	f := &trustFuzz{
		T: t, place: newPlace(t), seen: make(map[string]bool), counted: make(map[string]int),
		kinds: make(map[string]bool), refused: make(map[string]string),
		generator: generator{Rand: rand.New(rand.NewPCG(uint64(seed), 0)), top: whole(t)},
	}
	f.fillMade(f.top, nil)
	require.NotEmpty(t, f.made)
	for range files {
		f.one()
	}
	assert.Greater(t, f.counted["compared"], files/2, "most files are compared")
	t.Logf("seed %d: %v, %d parts of the grammar", seed, f.counted, len(f.seen))
	for _, path := range f.grammarPaths(f.top, "") {
		assert.True(t, f.seen[path], "no file had %s: no value of candidates fits there: %s", path, f.refused[path])
	}
}

func setting(t *testing.T, name string, fallback int) int {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		return fallback
	}
	n, err := strconv.Atoi(value)
	require.NoError(t, err, name)
	return n
}

// place is where the files are put.
type place struct {
	base, ws, pkg, deep string
	store               *trust.Store
}

func newPlace(t *testing.T) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := place{
		base: base, ws: filepath.Join(base, "home", "ws"), pkg: filepath.Join(base, "home", "ws", "pkg"),
		deep: filepath.Join(base, "home", "ws", "sub", "deep"), store: trust.Open(filepath.Join(base, "trust")),
	}
	for _, dir := range []string{p.pkg, p.deep, filepath.Join(base, "home", ".ssh"),
		filepath.Join(base, "home", "outside", "dir")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for _, dir := range []string{p.ws, p.pkg, p.deep} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("x\n"), 0o600))
		for link, target := range map[string]string{
			"here": filepath.Join(base, "home", "outside"), "all": "/", "inside": ".",
			"dangling": filepath.Join(base, "home", "outside", "later"),
			"loop":     "loop", "chain": "here", "up": "..",
		} {
			testneed.Symlink(t, target, filepath.Join(dir, link))
		}
	}
	t.Setenv("HOME", filepath.Join(base, "home"))
	t.Setenv(sandboxEnv, "")
	return p
}

// trustFuzz makes files, puts them somewhere and compares.
type trustFuzz struct {
	*testing.T
	place
	generator
	made    [][]*item       // files that the reader takes, which have every part of the grammar
	seen    map[string]bool // parts of the grammar in files that were made
	counted map[string]int
	kinds   map[string]bool   // of what was found
	refused map[string]string // why a part of the grammar could not be had
}

func (f *trustFuzz) grammarPaths(g *grammar, prefix string) (all []string) {
	for name := range g.attrs {
		all = append(all, prefix+name)
	}
	for name, inner := range g.blocks {
		all = append(append(all, prefix+name), f.grammarPaths(inner, prefix+name+".")...)
	}
	slices.Sort(all)
	return all
}

func (f *trustFuzz) note(items []*item, prefix string) {
	for _, i := range items {
		f.seen[prefix+i.name] = true
		f.note(i.in, prefix+i.name+".")
	}
}

// fillMade makes a file for each attribute and each block.
func (f *trustFuzz) fillMade(g *grammar, path []string) {
	for _, name := range slices.Sorted(maps.Keys(g.attrs)) {
		for range 150 {
			if f.seen[strings.Join(append(slices.Clone(path), name), ".")] {
				break
			}
			f.forced(path, &item{name: name, value: pick(f.Rand, append(g.attrs[name], `"x"`)), kept: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.blocks)) {
		for range 3 {
			i := f.block(name, g.blocks[name], 0.4)
			i.kept = true
			f.forced(path, i)
		}
		f.fillMade(g.blocks[name], append(slices.Clone(path), name))
	}
}

// forced makes a file that has a part where path says.
func (f *trustFuzz) forced(path []string, part *item) bool {
	items, at := []*item(nil), f.top
	into := &items
	for _, name := range path {
		at = at.blocks[name]
		b := f.block(name, at, 0.15)
		b.kept = true
		*into = append(*into, b)
		into = &b.in
	}
	*into = append(slices.DeleteFunc(*into, func(i *item) bool { return i.name == part.name && i.of == nil }), part)
	made, ok := f.repair(items)
	if ok {
		f.note(made, "")
		f.made = append(f.made, made)
	} else {
		f.refused[strings.Join(append(slices.Clone(path), part.name), ".")] = fmt.Sprint(hcl(items),
			read(hcl(items)).Err())
	}
	return ok
}

// file makes a random file.
func (f *trustFuzz) file() []*item {
	for {
		var items []*item
		for range f.IntN(6) {
			if f.IntN(3) > 0 {
				items = append(items, copied(pick(f.Rand, f.made))...)
				continue
			}
			name := pick(f.Rand, slices.Sorted(maps.Keys(f.top.blocks)))
			items = append(items, f.block(name, f.top.blocks[name], 0.3))
		}
		if items, ok := f.repair(items); ok {
			f.note(items, "")
			return items
		}
	}
}

func copied(items []*item) (all []*item) {
	for _, i := range items {
		c := *i
		c.in, c.kept = copied(i.in), false
		all = append(all, &c)
	}
	return all
}

// put writes items as the agent.hcl of a directory.
func (f *trustFuzz) put(dir string, items []*item, json bool) (path string) {
	path, text := filepath.Join(dir, config.FileName), hcl(items)
	if json {
		path, text = filepath.Join(dir, config.JSONFileName), asJSON(items)
	}
	require.NoError(f, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (f *trustFuzz) approve(path string) {
	content, err := os.ReadFile(path)
	require.NoError(f, err)
	require.NoError(f, agentfile.Approve(f.store, path, content, nil))
}

// clear takes all files and approvals away.
func (f *trustFuzz) clear() {
	for _, dir := range []string{f.ws, f.pkg} {
		for _, name := range []string{config.FileName, config.JSONFileName} {
			_ = os.Remove(filepath.Join(dir, name))
			require.NoError(f, f.store.Revoke(filepath.Join(dir, name)))
		}
	}
}

// find is what is in force for a directory.
func (f *trustFuzz) find(dir string) (*config.Config, bool) {
	standing, diags := agentfile.Find(agentfile.Options{Dir: dir, Store: f.store})
	if diags.HasErrors() {
		return nil, false
	}
	return standing.Config, true
}

// one tries one file.
func (f *trustFuzz) one() {
	approved, random := f.file(), f.file()
	json := f.IntN(4) == 0
	situations := map[string]func() (without, with *config.Config, ok bool){
		"alone": func() (*config.Config, *config.Config, bool) {
			return f.around(f.ws, func() { f.put(f.ws, random, json) })
		},
		"above": func() (*config.Config, *config.Config, bool) {
			return f.around(f.deep, func() { f.put(f.ws, random, json) })
		},
		"nearer": func() (*config.Config, *config.Config, bool) {
			f.approve(f.put(f.ws, approved, false))
			return f.around(f.pkg, func() { f.put(f.pkg, random, json) })
		},
		"changed": func() (*config.Config, *config.Config, bool) {
			f.approve(f.put(f.ws, approved, false))
			return f.around(f.ws, func() { f.put(f.ws, random, false) })
		},
		"put back": func() (*config.Config, *config.Config, bool) {
			path := f.put(f.ws, approved, false)
			f.approve(path)
			require.NoError(f, os.Remove(path))
			return f.around(f.ws, func() { f.put(f.ws, random, json) })
		},
		"removed": func() (*config.Config, *config.Config, bool) {
			path := f.put(f.ws, approved, false)
			f.approve(path)
			return f.around(f.ws, func() { require.NoError(f, os.Remove(path)) })
		},
		"nearer and changed": func() (*config.Config, *config.Config, bool) {
			f.approve(f.put(f.ws, approved, false))
			return f.around(f.pkg, func() { f.put(f.ws, random, false); f.put(f.pkg, f.file(), json) })
		},
	}
	name := pick(f.Rand, slices.Sorted(maps.Keys(situations)))
	if hcl(random) == hcl(approved) {
		return // it is approved
	}
	defer f.clear()
	without, with, ok := situations[name]()
	if !ok {
		f.counted["refused"]++
		return
	}
	f.counted["compared"]++
	for _, looser := range f.loosened(without, with) {
		kind, _, _ := strings.Cut(looser, " ")
		if f.kinds[name+kind] {
			continue
		}
		f.kinds[name+kind] = true
		f.Errorf("%s: %s\nwith the file\n%s\nin place of\n%s", name, looser, hcl(random), hcl(approved))
	}
}

// around is what is in force before and after a change.
func (f *trustFuzz) around(dir string, change func()) (without, with *config.Config, ok bool) {
	without, ok = f.find(dir)
	require.True(f, ok, "what is approved is in order")
	change()
	with, ok = f.find(dir)
	return without, with, ok
}

// The comparison finds what loosens: whatever field of a configuration is set
// to what nobody has approved.
func TestTrustDecisionSeesWhatLoosens(t *testing.T) {
	setCanary(t)
	p := newPlace(t)
	f := &trustFuzz{T: t, place: p}
	for src, want := range map[string]string{
		`workspace { root = "here" }`:                                            "Workspace.Root",
		`workspace { allow = ["/etc"] }`:                                         "Workspace.Allow",
		`limits { output = "8GiB" }`:                                             "Limits.Output",
		`limits { timeout = "24h" }`:                                             "Limits.Timeout",
		`web { allow = ["127.0.0.1"] }`:                                          "Web.Allow",
		`web { search = "https://evil.example/x" }`:                              "Web.Search",
		`sandbox { level = "off" }`:                                              "Sandbox.Level",
		`sandbox { level = "landlock" }`:                                         "Sandbox.Level",
		`sandbox { network = "allow" }`:                                          "Sandbox.Network",
		`sandbox { write = ["/etc"] }`:                                           "Sandbox.Write",
		`sandbox { read = ["/etc"] }`:                                            "Sandbox.Read",
		`toolset "x" { tools = ["rm"] ; rename = {"rm" = "ls"} }`:                "Toolsets",
		`variable "v" { default = "x" ; sensitive = true }`:                      "Variables",
		`instructions = "do"`:                                                    "Instructions",
		`plugin "p" { source = "x" }`:                                            "Plugins",
		`mcp "p" { command = ["x"] }`:                                            "Servers",
		`agent { command = ["x"] }`:                                              "Agents",
		`taskfile { network = "allow" }`:                                         "Taskfile",
		`builtin "edit_file" { unescape = "never" }`:                             "Builtins.Unescape",
		`prompt "p" { message { text = "x" } }`:                                  "Prompts",
		`resource "p" { uri = "n://x" ; file = "a.txt" }`:                        "Resources",
		`tool "p" { description = "x. Returns: y." ; command { argv = ["x"] } }`: "Tools",
		`locals { x = env("CANARY") }`:                                           "a variable of the environment is told",
	} {
		src = strings.NewReplacer("{ ", "{\n", " }", "\n}", " ; ", "\n").Replace(src)
		require.NoError(t, os.WriteFile(filepath.Join(p.ws, config.FileName), []byte(src+"\n"), 0o600))
		without, _ := f.find(p.deep)
		without.Workspace.Root = p.ws
		with, diags := agentfile.Find(agentfile.Options{File: filepath.Join(p.ws, config.FileName)})
		require.False(t, diags.HasErrors(), "%s: %v", src, diags)
		found := strings.Join(f.loosened(without, with.Config), "; ")
		if want == "" {
			assert.Empty(t, found, src)
		}
		assert.Contains(t, found, want, src)
	}
	policies := `policy {
  dangerous = "ask"
}
`
	require.NoError(t, os.WriteFile(filepath.Join(p.ws, config.FileName), []byte(policies), 0o600))
	strict, _ := f.find(p.ws)
	assert.NotEmpty(t, f.loosened(strict, &config.Config{Workspace: strict.Workspace}), "a policy that is gone")
}
