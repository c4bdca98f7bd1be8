package config

import (
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/realpath"
)

// What holds where no file says otherwise. A limit restricts only below these.
const (
	DefaultOutput     = 64 << 10
	DefaultTimeout    = 10 * time.Minute
	DefaultWebTimeout = 30 * time.Second
	DefaultWebSize    = 10 << 20
)

// Inert is what an agent.hcl may do that nobody has approved: restrict. It is
// made of what is known to do nothing else. Whatever is not named here, as a
// block or an attribute that somebody adds one day, is left out and so needs
// approval: see [Config.Effects].
func (c *Config) Inert() *Config {
	return &Config{
		Path: c.Path, Dir: c.Dir, SHA256: c.SHA256,
		Workspace: c.Workspace.inert(c.Dir),
		Variables: inertVariables(c.Variables),
		Toolsets:  inertToolsets(c.Toolsets),
		Limits:    c.Limits.inert(),
		Web:       c.Web.inert(),
		Record:    c.Record.inert(),
		Policy:    c.Policy.inert(),
		Granted:   slices.Clone(c.Granted), // nil is all, so that any list takes away
		Sandbox:   c.Sandbox.inert(),
	}
}

// inert keeps what is protected, and a root in the file's own directory.
func (w Workspace) inert(dir string) Workspace {
	kept := Workspace{Root: dir, Protect: w.Protect, Pos: w.Pos}
	if realpath.Within(w.Root, dir) {
		kept.Root = w.Root
	}
	return kept
}

// inertVariables keeps those that only other parts of the file refer to. The
// value of a sensitive one is blanked in results.
func inertVariables(all []Variable) (kept []Variable) {
	for _, v := range all {
		if !v.Sensitive {
			kept = append(kept, v)
		}
	}
	return kept
}

// inertToolsets keeps the selections. Another name would let a tool pass for
// another one, before a rule as before a person.
func inertToolsets(all []Toolset) (kept []Toolset) {
	for _, t := range all {
		kept = append(kept, Toolset{
			Name: t.Name, Tools: t.Tools, ToolPos: t.ToolPos, Search: t.Search, Resources: t.Resources,
			Prompts: t.Prompts, Pos: t.Pos,
		})
	}
	return kept
}

func (l Limits) inert() Limits {
	kept := Limits{Output: below(l.Output, DefaultOutput), Timeout: below(l.Timeout, DefaultTimeout), Pos: l.Pos}
	if l.Processes > 0 { // without a limit there is none
		kept.Processes = l.Processes
	}
	return kept
}

func (w Web) inert() Web {
	return Web{Timeout: below(w.Timeout, DefaultWebTimeout), MaxSize: below(w.MaxSize, DefaultWebSize), Pos: w.Pos}
}

// inert keeps that calls have to be recorded. How much is kept is for who is to
// read it: less of it would hide what was done, and more takes the user's disk.
func (r Record) inert() Record { return Record{Required: r.Required, Pos: r.Pos} }

// below keeps a limit that is stricter than what holds without it.
func below[N int64 | time.Duration](value, standard N) N {
	if value > 0 && value <= standard {
		return value
	}
	return 0
}

// inert keeps what denies and what asks, and rules that match nothing. With a
// rule about commands goes that lines that nobody can read are asked about; one
// that allows is kept for that, and allows nothing.
func (p *Policy) inert() *Policy {
	if p == nil {
		return nil
	}
	kept := &Policy{Risks: restricting(p.Risks), Permissions: restricting(p.Permissions), Pos: p.Pos}
	for _, r := range p.Rules {
		if !restricts(r.Action) && r.Action != Review && r.Command == "" && !r.Disabled {
			continue
		}
		if r.Action == Review { // which would run it first
			r.Action, r.Limits = Ask, Bounds{}
		}
		r.Disabled = r.Disabled || !restricts(r.Action)
		kept.Rules = append(kept.Rules, r)
	}
	return kept
}

func restricts(a Action) bool { return a == Ask || a == Deny }

func restricting[K tool.Risk | tool.Permission](actions map[K]Action) (kept map[K]Action) {
	for of, action := range actions {
		if action == Review {
			action = Ask
		}
		if !restricts(action) {
			continue
		}
		if kept == nil {
			kept = make(map[K]Action)
		}
		kept[of] = action
	}
	return kept
}

// inert keeps what hides, and the level that refuses to run anything at a
// weaker one. It also stands in for a container, whose image would have to be
// run.
func (s *Sandbox) inert() *Sandbox {
	if s == nil {
		return nil
	}
	kept := &Sandbox{Level: "auto", Mask: s.Mask, Pos: s.Pos}
	if s.Level == "full" || s.Level == "docker" {
		kept.Level = "full"
	}
	return kept
}
