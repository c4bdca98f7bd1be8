package sandbox

import (
	_ "embed"
	"os"
	"os/exec"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Settings is how a program confines the processes that it starts: "confine" in a shipped plugin's
// configuration. The zero value is the strongest level that works here, without grants.
type Settings struct {
	// Level is empty for Auto.
	Level Level `json:"level,omitempty" jsonschema:"How commands are confined: auto (the default), full, landlock or off."`
	// Network allows commands the network.
	Network bool `json:"network,omitempty" jsonschema:"Whether commands may reach the network."`
	// Hosts are what they may reach otherwise.
	Hosts []string `json:"hosts,omitempty" jsonschema:"Hosts that commands may reach otherwise."`
	// Credentials are added to requests to hosts. Other programs do not get them.
	Credentials []network.Credential `json:"-"`
	// Read are absolute paths that commands may read and never change, also in the workspace. Write are those
	// that they may change besides the workspace; Mask those that they find empty.
	Read  []string `json:"read,omitempty" jsonschema:"Further paths that commands may read and never change."`
	Write []string `json:"write,omitempty" jsonschema:"Further paths that commands may change."`
	Mask  []string `json:"mask,omitempty" jsonschema:"Paths that commands find empty."`
	// Keep are absolute paths that commands may not change. Unlike Read, it makes nothing readable.
	Keep []string `json:"keep,omitempty" jsonschema:"Paths that commands never change."`
	// Cache is the directory of build tools' caches, see WithCache; by default .agent/cache/sandbox in the
	// workspace.
	Cache string `json:"-"`
	// Names are globs of names that commands may not make or change anywhere.
	Names []string `json:"names,omitempty" jsonschema:"Globs of names that commands may make and change nowhere."`
	// Identity is the realpath.Identity of the workspace's directory as opened by the host. Nothing runs if
	// another directory has replaced it.
	Identity string `json:"identity,omitempty" jsonschema:"Which directory the workspace is."`
	// Unwatched disables the record of commands' changes.
	Unwatched bool `json:"unwatched,omitempty" jsonschema:"Whether nobody keeps what commands change."`
	// Memory bounds the processes of a command together, in bytes; zero means a quarter of the machine's.
	Memory uint64 `json:"memory,omitempty" jsonschema:"How many bytes the processes of a command may take together."`
	// Ignore are patterns of changes that are not recorded.
	Ignore []string `json:"ignore,omitempty" jsonschema:"Patterns of what commands change without its being kept."`
	// State is the host's state directory of the workspace, out of reach for commands; may be empty.
	State string `json:"state,omitempty" jsonschema:"Where the host keeps what it believes of the workspace."`
}

// WithCache returns the settings for a block with its own cache of that name in the workspace at root: no other
// process may write to it, nor it to others'. A block with the sandbox block's rights has none.
func (s Settings) WithCache(root, name string) Settings {
	if dir := GrantedCache(root, name); slices.Contains(s.Keep, dir) {
		s.Cache = dir
		s.Keep = slices.DeleteFunc(slices.Clone(s.Keep), func(path string) bool { return path == dir })
		s.Keep = append(s.Keep, sharedCache(root))
	}
	return s
}

// SettingsSchema is the JSON Schema of Settings, for plugins that publish theirs.
//
//go:embed settings.json
var SettingsSchema string

// Hidden returns the paths in the trees that file tools do not use: known places of secrets, and what commands
// find empty. A tree within such a place was named explicitly, and is used.
func (s Settings) Hidden(trees ...string) (hidden []string) {
	places := secretPlaces{memo: make(realpath.Memo)}
	for _, path := range knownSecrets(homeDirectory()) {
		if inOne(path, trees) {
			places.add(path)
		}
	}
	for _, path := range append(userdir.Private(), s.Mask...) { // existing or not
		if real, err := realpath.Of(path); err == nil {
			places.found = append(places.found, real)
		}
	}
	for _, path := range places.found {
		if inOne(path, trees) {
			hidden = append(hidden, path)
		}
	}
	return hidden
}

// inOne reports whether a path lies below one of the trees and contains none of them.
func inOne(path string, trees []string) bool {
	below := func(tree string) bool { return realpath.Below(path, tree) }
	holds := func(tree string) bool { return realpath.Below(tree, path) }
	return slices.ContainsFunc(trees, below) && !slices.ContainsFunc(trees, holds)
}

// Policy returns the policy of commands that work in root, an absolute path, and in the further trees.
func (s Settings) Policy(root string, trees ...string) Policy {
	return Policy{
		Level: s.Level, Network: s.Network, Hosts: s.Hosts, Workspace: root, Keep: s.Keep, Names: s.Names,
		CacheDir:    s.Cache,
		Credentials: s.Credentials,
		Unwatched:   s.Unwatched,
		Limits:      Limits{Memory: s.Memory},
		Held:        Held{root, s.Identity},
		ReadWrite:   slices.Concat(trees, s.Write), ReadOnly: slices.Clone(s.Read), MaskSecrets: slices.Clone(s.Mask),
		Straight: slices.Concat(s.Read, s.Write),
	}
}

// UntouchedPolicy is for commands that change neither root nor the trees, only what is granted and their
// caches.
func (s Settings) UntouchedPolicy(root string, trees ...string) Policy {
	p := s.Policy(root)
	p.Untouched, p.ReadOnly = true, append(p.ReadOnly, trees...)
	return p
}

// ReadingPolicy is for a program that only reads the trees. It has no network.
func (s Settings) ReadingPolicy(root string, trees ...string) Policy {
	return Policy{
		Held:  Held{root, s.Identity},
		Level: s.Level, NoCache: true,
		ReadOnly: slices.Concat([]string{root}, trees, s.Read, s.Write), MaskSecrets: slices.Clone(s.Mask),
		Straight: slices.Concat(s.Read, s.Write),
	}
}

// Confine returns the Confine of the policy for root and trees.
func (s Settings) Confine(root string, trees ...string) func(*exec.Cmd) error {
	return s.Policy(root, trees...).Prepared().Confine
}

// ConfineReading returns the Confine of the reading policy for root and trees.
func (s Settings) ConfineReading(root string, trees ...string) func(*exec.Cmd) error {
	return s.ReadingPolicy(root, trees...).Prepared().Confine
}

// ConfineTelling returns the ConfineTelling of the policy for root and trees.
func (s Settings) ConfineTelling(root string, trees ...string) func(*exec.Cmd) (metadata map[string]any, err error) {
	return s.Policy(root, trees...).Prepared().ConfineTelling
}

// Denied returns the Denied of the policy for root and trees, for commands with the rights of agent.hcl's
// sandbox block.
func (s Settings) Denied(root string, trees ...string) func(printed string) string {
	policy := s.Policy(root, trees...).Prepared()
	return func(printed string) string { return policy.Denied("the sandbox block of agent.hcl", printed) }
}

// Confine is Apply without the level. It fits proc.Command.Prepare.
func (p Policy) Confine(cmd *exec.Cmd) error {
	_, err := Apply(cmd, p)
	return err
}

// Held is a directory that was opened, and its identity.
type Held struct{ Path, Identity string }

// There returns an error if another directory has replaced the one that was opened.
func (h Held) There() error {
	if h.Identity == "" {
		return nil
	}
	if info, err := os.Lstat(h.Path); err == nil && realpath.Identity(info) == h.Identity {
		return nil
	}
	return tool.Errorf(tool.Conflict, "another directory has taken the place of the workspace %s", h.Path).
		Suggest("Put the workspace back, or start toolhost again in the directory that is meant.")
}

// Weaker returns a sentence if commands will run below the strongest level without the user's choice, else "".
// It tries the level, a third of a start's cost, only in doubt.
func Weaker(level Level, unwatched bool) string {
	if !doubtful() {
		return ""
	}
	p := Policy{Level: level, trial: !unwatched}
	level, err := p.choose()
	if err != nil {
		return ""
	}
	return p.weaker(level)
}

func (p *Policy) weaker(level Level) string {
	if level != Landlock || p.Level != Auto && p.Level != "" {
		return ""
	}
	return on(Full, p.supervised(), p.prepared).Weaker()
}

// ConfineTelling is Apply for tools whose results name the level: it returns a result's metadata about it, and
// about the sandbox around the host, if any.
func (p Policy) ConfineTelling(cmd *exec.Cmd) (metadata map[string]any, err error) {
	level, err := Apply(cmd, p)
	if err != nil {
		return nil, err
	}
	metadata = map[string]any{tool.SandboxLevel: string(level)}
	if weaker := p.weaker(level); weaker != "" {
		metadata[tool.SandboxWeaker] = weaker
	}
	if confinedAlready() {
		metadata["sandbox_around"] = string(around())
	}
	return metadata, nil
}
