package main

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/sandbox"
)

// confine is how the children of command tools and of the Taskfile are
// confined: as the sandbox block of agent.hcl says, and not at all without
// one. It returns what the results' metadata say of it.
func (p *project) confine(cfg *config.Config) func(*exec.Cmd, argv.Access) (map[string]any, error) {
	block := cfg.Sandbox
	if block == nil {
		return nil
	}
	return func(cmd *exec.Cmd, access argv.Access) (map[string]any, error) {
		level, err := sandbox.Apply(cmd, sandbox.Policy{
			Level:       sandbox.Level(block.Level),
			Workspace:   p.workspace.Root(),
			ReadWrite:   append(append(append([]string{}, cfg.Workspace.Allow...), block.Write...), access.Write...),
			ReadOnly:    append(append(p.ownFiles(cfg), block.Read...), access.Read...),
			MaskSecrets: block.Mask,
			Network:     access.Network,
			Image:       block.Image,
		})
		return map[string]any{"sandbox": string(level)}, err
	}
}

// confineSettings is how shipped plugins confine the processes that they
// start.
func (p *project) confineSettings(cfg *config.Config) sandbox.Settings {
	s := sandbox.Settings{Level: sandbox.Auto, Read: p.ownFiles(cfg)}
	if block := cfg.Sandbox; block != nil {
		s.Level, s.Image, s.Network = sandbox.Level(block.Level), block.Image, block.Network
		s.Read, s.Write, s.Mask = append(s.Read, block.Read...), block.Write, block.Mask
	}
	if os.Getenv(sandboxEnv) == string(sandbox.Off) {
		s.Level = sandbox.Off
	}
	return s
}

// sandboxEnv is the environment variable by which the operator, with the value
// off, has everything run unconfined, where there is no agent.hcl to say it.
const sandboxEnv = "TOOLHOST_SANDBOX"

// ownFiles are the files that say what agents may do, and what background
// tasks did. A confined command may not change them although they lie in the
// workspace.
func (p *project) ownFiles(cfg *config.Config) []string {
	files := []string{filepath.Join(p.workspace.Root(), ".agent", "Taskfile.yml"), p.tasks().Path()}
	if cfg.Taskfile != nil && cfg.Taskfile.Path != "" {
		files = append(files, filepath.Join(p.workspace.Root(), cfg.Taskfile.Path))
	}
	if path, err := filepath.Abs(cfg.Path); err == nil {
		files = append(files, path)
	}
	return files
}

// confineTasks is confine for the commands of the Taskfile.
func (p *project) confineTasks(cfg *config.Config) func(*exec.Cmd) error {
	confine := p.confine(cfg)
	if confine == nil {
		return nil
	}
	access := argv.Access{}
	if cfg.Taskfile != nil {
		access = cfg.Taskfile.Access
	}
	return func(cmd *exec.Cmd) error {
		_, err := confine(cmd, access)
		return err
	}
}
