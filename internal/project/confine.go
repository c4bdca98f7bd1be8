package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/source/plugins/install"
	"github.com/toolhost/toolhost/internal/store/sources"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// sandboxEnv is the operator's environment variable for the level, with or without agent.hcl; it may be off.
const sandboxEnv = "TOOLHOST_SANDBOX"

// confineSettings confines child processes by the sandbox block; without one at the strongest available
// level, without network.
func (p *Project) confineSettings(cfg *config.Config) sandbox.Settings {
	s := sandbox.Settings{Identity: p.identity, State: p.stateDir, Ignore: cfg.Record.Ignore}
	s.Keep, s.Names = p.ownFiles(cfg)
	if block := cfg.Sandbox; block != nil {
		s.Network, s.Hosts = block.Network, block.Hosts
		s.Read, s.Write, s.Mask = cfg.Judged(block.Read...), cfg.Judged(block.Write...), block.Mask
		s.Memory = uint64(block.Memory)
	}
	for _, c := range cfg.Credentials {
		if c.Value == "" {
			continue
		}
		s.Credentials = append(s.Credentials, network.Credential{Name: c.Name, Host: c.Host, Port: c.Port, Header: c.Header,
			Value: c.Value})
	}
	s.Level, s.Unwatched = chosenLevel(cfg)
	s.Keep = append(s.Keep, p.grantedCaches(cfg)...)
	return s
}

// chosenLevel returns the sandbox's level, and whether it does not watch changes.
func chosenLevel(cfg *config.Config) (level sandbox.Level, unwatched bool) {
	level = sandbox.Auto
	if block := cfg.Sandbox; block != nil {
		level, unwatched = sandbox.Level(block.Level), block.Unwatched
	}
	return sandboxLevel(level), unwatched
}

// grantedCaches returns the cache directories for blocks with a grant only. They are made here, so that
// no other process can make them; that of read-only tools only if there is one.
func (p *Project) grantedCaches(cfg *config.Config) (dirs []string) {
	root := p.Workspace.Root()
	for _, name := range cfg.GrantedCaches() {
		dir := sandbox.GrantedCache(root, name)
		dirs = append(dirs, dir)
		if name == config.ReadOnlyCache && !cfg.ReadsOnly() {
			continue
		}
		if err := sandbox.MakeCache(root, dir); err != nil {
			p.options.Logger.Warn("a block with a grant has no caches", "directory", dir, "error", err)
		}
	}
	return dirs
}

// masks returns the settings that file tools observe too.
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

// verifiedTasks is verified for the Taskfile's commands.
func verifiedTasks(cfg *config.Config, root string) error {
	if cfg.Taskfile == nil {
		return verified(cfg, argv.Access{})
	}
	return errors.Join(verified(cfg, cfg.Taskfile.Access), cfg.ApprovedTasks(root).Verify())
}

// sandboxLevel returns the operator's level if set, else the chosen one. With an unknown level nothing
// is run.
func sandboxLevel(chosen sandbox.Level) sandbox.Level {
	return cmp.Or(sandbox.Level(os.Getenv(sandboxEnv)), chosen)
}

// SandboxLevel returns how strongly the project's processes are confined.
func (p *Project) SandboxLevel() sandbox.Level {
	level, _ := chosenLevel(p.Config())
	return level
}

// TryCommand checks whether commands could change files here, without a grant. The error is a *tool.Error.
func (p *Project) TryCommand() error {
	policy := p.confineSettings(p.Config()).Policy(p.Workspace.Root(), p.Config().Workspace.Allow...)
	policy.NoCache = true
	return policy.Try()
}

// ConfineInspection confines a program that is run once to list its offers, in an empty workspace.
func ConfineInspection(l plugins.Launch, workspace string) error {
	settings := sandbox.Settings{Level: sandboxLevel(sandbox.Auto)}
	policy := settings.Policy(workspace, l.SocketDir)
	policy.UnixSockets = true
	policy.ReadOnly = append(policy.ReadOnly, pluginFiles(l.Spec.Path)...)
	return policy.Confine(l.Cmd)
}

// ConfineBuild confines the go command that tests and builds a plugin to its room, with a cache for
// that module.
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

// granting adds a block's grant and network to s, which has the sandbox block's. A block with a grant
// has its own caches.
func (p *Project) granting(cfg *config.Config, s sandbox.Settings, kind, name string, access argv.Access) sandbox.Settings {
	s = s.WithCache(p.Workspace.Root(), config.CacheName(kind, name))
	s.Network, s.Hosts = access.Network, access.Hosts
	s.Read = slices.Concat(s.Read, cfg.Judged(access.Read...))
	s.Write = slices.Concat(s.Write, cfg.Judged(access.Write...))
	return s
}

// confine confines a command tool's processes, and returns metadata for its results. A tool of risk
// read_only cannot change the workspace; such standard wrappers can change nothing, and standard
// wrappers need no caches.
func (p *Project) confine(cfg *config.Config, kind, name string, standard bool, risk tool.Risk) (
	prepare func(*exec.Cmd, argv.Access) (map[string]any, error),
	denied func(block string, access argv.Access, printed string) string) {
	root, trees := p.Workspace.Root(), cfg.Workspace.Allow
	var once sync.Once
	var policy sandbox.Policy
	policyFor := func(access argv.Access) sandbox.Policy { // access is always the tool's
		once.Do(func() {
			settings := p.confineSettings(cfg)
			switch granted := p.granting(cfg, settings, kind, name, access); {
			case standard && risk == tool.ReadOnly:
				policy = settings.ReadingPolicy(root, trees...).Prepared()
				policy.Scratch = filepath.Join(root, ".agent", "cache", "sandbox", "tmp")
			case risk == tool.ReadOnly:
				if granted.Cache == "" {
					granted = granted.WithCache(root, config.ReadOnlyCache)
				}
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

// taskPolicy returns the confinement of the Taskfile's commands.
func (p *Project) taskPolicy(cfg *config.Config) sandbox.Policy {
	access := argv.Access{}
	if cfg.Taskfile != nil {
		access = cfg.Taskfile.Access
	} else if cfg.Sandbox != nil {
		access.Network, access.Hosts = cfg.Sandbox.Network, cfg.Sandbox.Hosts
	}
	return p.granting(cfg, p.confineSettings(cfg), "taskfile", "", access).Policy(p.Workspace.Root(), cfg.Workspace.Allow...).Prepared()
}

// taskBlock names the block that can grant the Taskfile's commands access.
func taskBlock(cfg *config.Config) string {
	if cfg.Taskfile == nil {
		return "a taskfile block of agent.hcl"
	}
	return "the taskfile block (" + cfg.Taskfile.Pos + ")"
}

// confinePlugin confines processes of the project's own plugins. Shipped ones are toolhost's code and
// confine what they start.
func (p *Project) confinePlugin(cfg *config.Config) (prepare func(plugins.Launch) error,
	denied func(plugin, printed string) string) {
	access := make(map[string]argv.Access)
	for _, plugin := range cfg.Plugins {
		access[plugin.Name] = plugin.Access
	}
	settings := sync.OnceValue(func() sandbox.Settings { return p.confineSettings(cfg) })
	policyFor := func(plugin string, further ...string) sandbox.Policy {
		return p.granting(cfg, settings(), "plugin", plugin, access[plugin]).Policy(p.Workspace.Root(),
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
		defer network.Attach(l.Cmd, p.networkOf(sources.Plugin, l.Plugin))()
		return policy.Confine(l.Cmd)
	}
	denied = func(plugin, printed string) string {
		return policyFor(plugin).Denied(fmt.Sprintf("plugin %q of agent.hcl", plugin), printed)
	}
	return prepare, denied
}

// networkOf logs the connections of a process that serves many calls: those of a single call in progress with it,
// and the refused ones as lines. Which call wants one is not sure, so the user decides for the process, by
// `toolhost approve` or in the console.
func (p *Project) networkOf(kind sources.Kind, name string) *network.Log {
	return &network.Log{
		Serving: p.servingOf(kind, name),
		Tell:    func(c network.Connection) { p.keepLine(kind, name, "network: "+c.String()) },
		Ask: func(to string) (string, error) {
			return p.Host.Connect(context.Background(), host.Connecting{Proposal: host.Proposal{
				Tool: string(kind) + " " + name, Definition: new(tool.Definition), Params: json.RawMessage(`{}`), Connect: to,
			}, Approvals: pendingApprovals{p}})
		},
	}
}

func (p *Project) servingOf(kind sources.Kind, name string) *network.Serving {
	serving, _ := p.serving.LoadOrStore(string(kind)+" "+name, new(network.Serving))
	return serving.(*network.Serving)
}

// pluginFiles returns the installed plugin's directory of a program, which a private /tmp would hide if
// the user's data is below /tmp.
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
		depth = 1 // not installed yet
	}
	if len(parts) <= depth {
		return nil
	}
	return []string{filepath.Join(append([]string{store}, parts[:depth]...)...)}
}

type confinement struct {
	Common *sandbox.Settings
	Access *argv.Access
	Allow  []string
	// Since is the server's last requested restart.
	Since string
	// Credentials is a digest of the credentials added to its requests.
	Credentials string `json:",omitempty"`
}

func credentialsDigest(s *sandbox.Settings) string {
	if len(s.Credentials) == 0 {
		return ""
	}
	sum := sha256.Sum256(tool.MustMarshal(s.Credentials))
	return hex.EncodeToString(sum[:])
}

func (p *Project) commonSettings(cfg *config.Config) *sandbox.Settings {
	s := p.confineSettings(cfg)
	s.Network, s.Hosts = false, nil // set by each block
	return &s
}
