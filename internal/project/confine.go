package project

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/userdir"
	"github.com/toolhost/toolhost/internal/peer/plugins"
	"github.com/toolhost/toolhost/internal/peer/plugins/install"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// sandboxEnv is the environment variable by which the operator chooses the level
// for everything, off among them, whatever agent.hcl says or where there is none.
const sandboxEnv = "TOOLHOST_SANDBOX"

// confineSettings is how child processes are confined: as the sandbox block of
// agent.hcl says, and without one by the strongest level that works here, with
// no network.
func (p *Project) confineSettings(cfg *config.Config) sandbox.Settings {
	s := sandbox.Settings{Level: sandbox.Auto, Keep: p.ownFiles(cfg), Names: workspace.DecidingAnywhere(),
		Identity: p.identity, State: p.stateDir,
		Ignore: cfg.Record.Ignore}
	if block := cfg.Sandbox; block != nil {
		s.Level, s.Image, s.Network = sandbox.Level(block.Level), block.Image, block.Network
		s.Read, s.Write, s.Mask = cfg.Judged(block.Read...), cfg.Judged(block.Write...), block.Mask
		s.Unwatched = block.Unwatched
	}
	s.Level = sandboxLevel(s.Level)
	return s
}

// planted has looked for, around each call that may run programs, what level
// full cannot refuse. What toolhost's own tools write is checked by itself.
func (p *Project) planted() func(source string) func() string {
	places := sandbox.NewPlanted(p.Workspace.Root(), workspace.Deciding(), workspace.DecidingAnywhere())
	return func(source string) func() string {
		if source == "builtin" || source == "plugin files" || !p.confineSettings(p.Config()).HoldsWhatExists() {
			return nil
		}
		places.Begin()
		return func() string {
			if said := places.End(); len(said) > 0 {
				return sandbox.Heeded(said)
			}
			return ""
		}
	}
}

// masks is what of it says what file tools do not use either.
func masks(cfg *config.Config) (s sandbox.Settings) {
	if cfg.Sandbox != nil {
		s.Mask = cfg.Sandbox.Mask
	}
	return s
}

// verified refuses grants that lead elsewhere than when agent.hcl was judged.
func verified(cfg *config.Config, access argv.Access) error {
	if cfg.Sandbox != nil {
		if err := cfg.Verify(slices.Concat(cfg.Sandbox.Read, cfg.Sandbox.Write)...); err != nil {
			return err
		}
	}
	return cfg.Verify(slices.Concat(access.Read, access.Write)...)
}

// verifiedTasks is verified for the commands of the Taskfile.
func verifiedTasks(cfg *config.Config, root string) error {
	if cfg.Taskfile == nil {
		return verified(cfg, argv.Access{})
	}
	return errors.Join(verified(cfg, cfg.Taskfile.Access), cfg.ApprovedTasks(root).Verify())
}

// sandboxLevel is the level that was chosen, unless the operator's environment
// says another. With one that does not exist, nothing is run.
func sandboxLevel(chosen sandbox.Level) sandbox.Level {
	return cmp.Or(sandbox.Level(os.Getenv(sandboxEnv)), chosen)
}

// SandboxLevel is how strongly the project's processes are confined.
func (p *Project) SandboxLevel() sandbox.Level { return p.confineSettings(p.Config()).Level }

// ConfineInspection confines a program that is run once to say what it offers,
// in an empty workspace.
func ConfineInspection(l plugins.Launch, workspace string) error {
	settings := sandbox.Settings{Level: sandboxLevel(sandbox.Auto)}
	policy := settings.Policy(workspace, l.SocketDir)
	policy.UnixSockets = true
	policy.ReadOnly = append(policy.ReadOnly, pluginFiles(l.Spec.Path)...)
	return policy.Confine(l.Cmd)
}

// ConfineBuild confines the go command that tests and builds a plugin, and what it
// runs, to the room that it has; a cache that is of that module alone comes with
// it.
func ConfineBuild(cmd *exec.Cmd, room install.Room) error {
	settings := sandbox.Settings{Level: sandboxLevel(sandbox.Auto), Mask: room.Hide}
	policy := settings.Policy(room.Write)
	policy.ReadOnly = append(policy.ReadOnly, room.Read...)
	if dir := userdir.Cache("builds"); dir != "" {
		sum := sha256.Sum256([]byte(cmd.Dir))
		policy.CacheDir = filepath.Join(dir, hex.EncodeToString(sum[:12]))
		if err := os.MkdirAll(policy.CacheDir, 0o700); err != nil {
			return err
		}
		policy.ReadWrite = append(policy.ReadWrite, policy.CacheDir)
	}
	return policy.Confine(cmd)
}

// granting adds what one tool, plugin or Taskfile is granted for itself. Its
// word on the network counts: that of the sandbox block is worked into it.
func granting(cfg *config.Config, s sandbox.Settings, access argv.Access) sandbox.Settings {
	s.Network = access.Network
	s.Read = slices.Concat(s.Read, cfg.Judged(access.Read...))
	s.Write = slices.Concat(s.Write, cfg.Judged(access.Write...))
	return s
}

// confine is how a command tool's processes are confined. It returns what the
// results' metadata say of it. A tool of risk read_only cannot change the
// workspace. The standard wrappers of that kind can change nothing at all, and
// none of them needs caches.
func (p *Project) confine(cfg *config.Config, standard bool, risk tool.Risk) (
	prepare func(*exec.Cmd, argv.Access) (map[string]any, error),
	denied func(block string, access argv.Access, printed string) string) {
	settings, root, trees := p.confineSettings(cfg), p.Workspace.Root(), cfg.Workspace.Allow
	var once sync.Once
	var policy sandbox.Policy
	policyFor := func(access argv.Access) sandbox.Policy { // access is always the tool's
		once.Do(func() {
			switch granted := granting(cfg, settings, access); {
			case standard && risk == tool.ReadOnly:
				policy = settings.ReadingPolicy(root, trees...).Prepared()
				policy.Scratch = filepath.Join(root, ".agent", "cache", "sandbox", "tmp")
			case risk == tool.ReadOnly:
				policy = granted.UntouchedPolicy(root, trees...).Prepared()
			default:
				policy = granted.Policy(root, trees...).Prepared()
				policy.NoCache = standard
			}
		})
		return policy
	}
	return func(cmd *exec.Cmd, access argv.Access) (map[string]any, error) {
			if err := errors.Join(verified(cfg, access), cfg.ApprovedFiles(root, cmd.Args).Verify()); err != nil {
				return nil, err
			}
			return policyFor(access).ConfineTelling(cmd)
		},
		func(block string, access argv.Access, printed string) string {
			return policyFor(access).Denied(block, printed)
		}
}

// taskPolicy is how the commands of the Taskfile are confined.
func (p *Project) taskPolicy(cfg *config.Config) sandbox.Policy {
	access := argv.Access{}
	if cfg.Taskfile != nil {
		access = cfg.Taskfile.Access
	} else if cfg.Sandbox != nil {
		access.Network = cfg.Sandbox.Network
	}
	return granting(cfg, p.confineSettings(cfg), access).Policy(p.Workspace.Root(), cfg.Workspace.Allow...).Prepared()
}

// taskBlock names the block that grants the commands of the Taskfile something.
func taskBlock(cfg *config.Config) string {
	if cfg.Taskfile == nil {
		return "a taskfile block of agent.hcl"
	}
	return "the taskfile block (" + cfg.Taskfile.Pos + ")"
}

// confinePlugin is how the processes of the project's own plugins are
// confined. The shipped ones are toolhost's code, and confine what they start.
// No image holds a plugin: at level docker, plugins get the strongest level
// that works without one.
func (p *Project) confinePlugin(cfg *config.Config) (prepare func(plugins.Launch) error,
	denied func(plugin, printed string) string) {
	access := make(map[string]argv.Access)
	for _, plugin := range cfg.Plugins {
		access[plugin.Name] = plugin.Access
	}
	settings := p.confineSettings(cfg)
	if settings.Level == sandbox.Docker {
		settings.Level = sandbox.Auto
	}
	policyFor := func(plugin string, further ...string) sandbox.Policy {
		return granting(cfg, settings, access[plugin]).Policy(p.Workspace.Root(),
			append(slices.Clone(cfg.Workspace.Allow), further...)...)
	}
	prepare = func(l plugins.Launch) error {
		if l.Spec.Shipped {
			return nil
		}
		policy := policyFor(l.Plugin, l.SocketDir)
		policy.UnixSockets = true
		policy.ReadOnly = append(policy.ReadOnly, pluginFiles(l.Spec.Path)...)
		words := append([]string{l.Spec.Path}, l.Spec.Args...)
		if err := errors.Join(verified(cfg, access[l.Plugin]),
			cfg.ApprovedFiles(p.Workspace.Root(), words).Verify()); err != nil {
			return err
		}
		defer p.lifeOf("plugin " + l.Plugin).Attach(l.Cmd)()
		return policy.Confine(l.Cmd)
	}
	denied = func(plugin, printed string) string {
		return policyFor(plugin).Denied(fmt.Sprintf("plugin %q of agent.hcl", plugin), printed)
	}
	return prepare, denied
}

// pluginFiles is the directory of the installed plugin that a program belongs
// to, which the private /tmp would hide where the user's data lies below /tmp.
func pluginFiles(program string) []string {
	store, err := install.Dir()
	if err != nil {
		return nil
	}
	rel, err := filepath.Rel(store, program)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	depth := 3 // NAME/VERSION/PLATFORM
	if strings.HasPrefix(parts[0], ".") {
		depth = 1 // being installed
	}
	if len(parts) <= depth {
		return nil
	}
	return []string{filepath.Join(append([]string{store}, parts[:depth]...)...)}
}

// confinement tells one way to confine a plugin or an MCP server from another.
type confinement struct {
	Common *sandbox.Settings
	Access *argv.Access
	Allow  []string
	// Since is when a server was last wanted anew.
	Since string
}

// commonSettings are those that all plugins and MCP servers share.
func (p *Project) commonSettings(cfg *config.Config) *sandbox.Settings {
	s := p.confineSettings(cfg)
	s.Network = false // each has its own word on it
	return &s
}
