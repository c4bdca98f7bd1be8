package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// direction reports whether a value is the same as another one or stricter. It
// knows nothing of what needs approval: only of what a run does with the value.
type direction func(f *trustFuzz, without, with any) bool

// noMore is for what is granted: nothing is that was not.
func noMore(_ *trustFuzz, without, with any) bool { return !with.(bool) || without.(bool) }

// directions has one for each field of a configuration, and of its blocks.
// A field that is not here is loosened by whatever is in it.
var directions = map[string]direction{
	"Path": any2, "Dir": any2, "SHA256": any2, "Leads": any2, "Digests": any2,
	"EnvNames": any2,                  // what was read, and not what is done
	"Policy":   any2, "Further": any2, // compared by what they decide
	"Keep":         any2, // by what is kept
	"Instructions": sameOrNone,
	"Workspace.Root": func(f *trustFuzz, without,
		with any) bool {
		return below(f, with.(string), without.(string))
	},
	"Workspace.Allow":   fewer,
	"Workspace.Protect": any2, // compared by what is protected
	"Workspace.Pos":     any2, "Limits.Pos": any2, "Web.Pos": any2, "Sandbox.Pos": any2,
	"Record.Pos": any2, "Record.Keep": sameOrNone, "Record.Size": sameOrNone, "Record.Ignore": sameOrNone,
	"Record.Required": func(_ *trustFuzz, without, with any) bool { return with.(bool) || !without.(bool) },
	"Variables": func(_ *trustFuzz, without,
		with any) bool {
		return covers(sensitive(without), sensitive(with))
	},
	"Tools": fewer, "Resources": fewer, "Prompts": fewer, "Plugins": fewer, "Servers": fewer, "Agents": fewer,
	"Secrets":  fewer,
	"Taskfile": sameOrNone, "Model": sameOrNone,
	"Toolsets":          narrowed,
	"Builtins.Unescape": sameOrNone,
	"Limits.Output":     atMost[int64](config.DefaultOutput), "Limits.Timeout": atMost(config.DefaultTimeout),
	"Limits.Processes": atMost(1 << 40),
	"Web.Allow":        fewer,
	"Web.Search":       sameOrNone,
	"Web.Timeout":      atMost(config.DefaultWebTimeout), "Web.MaxSize": atMost[int64](config.DefaultWebSize),
	"Granted": func(_ *trustFuzz, without, with any) bool {
		a, b := without.([]tool.Permission), with.([]tool.Permission)
		return a == nil || b != nil && covers(a, b)
	},
	"Sandbox.Level":   func(_ *trustFuzz, without, with any) bool { return strength(with) >= strength(without) },
	"Sandbox.Network": noMore, "Sandbox.Unwatched": noMore,
	"Sandbox.Image": sameOrNone,
	"Sandbox.Read":  fewer, "Sandbox.Write": fewer, "Sandbox.Mask": more,
}

// settingsDirections is the same for how commands are confined.
var settingsDirections = map[string]direction{
	"confined.Level": func(_ *trustFuzz, without, with any) bool {
		return strength(string(with.(sandbox.Level))) >= strength(string(without.(sandbox.Level)))
	},
	"confined.Image":   sameOrNone,
	"confined.Network": noMore, "confined.Unwatched": noMore,
	"confined.Read": fewer, "confined.Write": fewer, "confined.Mask": more, "confined.Names": more,
	"confined.Keep":     any2, // compared by what is kept
	"confined.Identity": any2,
	"confined.Ignore":   sameOrNone,
}

func any2(*trustFuzz, any, any) bool { return true }

func sameOrNone(_ *trustFuzz, without, with any) bool {
	return reflect.ValueOf(with).IsZero() || reflect.DeepEqual(without, with)
}

// fewer has every element be one of those without the file.
func fewer(_ *trustFuzz, without, with any) bool {
	a, b := reflect.ValueOf(without), reflect.ValueOf(with)
	for i := range b.Len() {
		if !holds(a, b.Index(i).Interface()) {
			return false
		}
	}
	return true
}

func more(f *trustFuzz, without, with any) bool { return fewer(f, with, without) }

func holds(list reflect.Value, element any) bool {
	for i := range list.Len() {
		if reflect.DeepEqual(list.Index(i).Interface(), element) {
			return true
		}
	}
	return false
}

func covers[T comparable](all, some []T) bool {
	return !slices.ContainsFunc(some, func(one T) bool { return !slices.Contains(all, one) })
}

// atMost compares limits of which zero is the default.
func atMost[N int | int64 | time.Duration](standard N) direction {
	return func(_ *trustFuzz, without, with any) bool {
		return cmp.Or(with.(N), standard) <= cmp.Or(without.(N), standard)
	}
}

// strength orders levels: auto is full or landlock.
func strength(level any) int {
	return slices.Index([]string{"off", "landlock", "auto", "full"},
		cmp.Or(strings.Replace(level.(string), "docker", "full", 1), "auto"))
}

func sensitive(variables any) (names []string) {
	for _, v := range variables.([]config.Variable) {
		if v.Sensitive {
			names = append(names, v.Name)
		}
	}
	return names
}

// narrowed has a toolset only select, and from what it had.
func narrowed(_ *trustFuzz, without, with any) bool {
	before := make(map[string]config.Toolset)
	for _, t := range without.([]config.Toolset) {
		before[t.Name] = t
	}
	for _, t := range with.([]config.Toolset) {
		old, known := before[t.Name]
		switch {
		case reflect.DeepEqual(old, t):
			continue
		case known &&
			(!covers(old.Tools, t.Tools) || !covers(old.Resources, t.Resources) || !covers(old.Prompts, t.Prompts)):
			return false
		case len(t.Rename) > 0:
			return false
		}
		t.Name, t.Tools, t.ToolPos, t.Resources, t.Prompts, t.Search, t.Pos, t.Rename = "", nil, nil, nil, nil, false,
			"", nil
		if !reflect.ValueOf(t).IsZero() {
			return false // a field that nobody thought of
		}
	}
	return true
}

// below follows links with the standard library. What does not exist cannot be a
// workspace.
func below(_ *trustFuzz, path, dir string) bool {
	path, errPath := filepath.EvalSymlinks(path)
	dir, errDir := filepath.EvalSymlinks(dir)
	rel, err := filepath.Rel(dir, path)
	return errPath != nil || errDir == nil && err == nil && filepath.IsLocal(rel)
}

// loosened lists what a run with the second configuration may do that one with
// the first may not.
func (f *trustFuzz) loosened(without, with *config.Config) (all []string) {
	all = append(all, f.fields(directions, "", reflect.ValueOf(*without), reflect.ValueOf(*with))...)
	all = append(all, f.decisions(without, with)...)
	all = append(all, f.confinement(without, with)...)
	if said, err := json.Marshal(with); err == nil && strings.Contains(string(said), canary) {
		if before, _ := json.Marshal(without); !strings.Contains(string(before), canary) {
			all = append(all, "a variable of the environment is told")
		}
	}
	return all
}

// fields compares field by field. A block that is not there is one that says
// nothing.
func (f *trustFuzz) fields(directions map[string]direction, prefix string, without, with reflect.Value) (all []string) {
	for i := range with.NumField() {
		name := prefix + with.Type().Field(i).Name
		a, b := without.Field(i), with.Field(i)
		if !with.Type().Field(i).IsExported() {
			continue
		}
		if directions[name] == nil && a.Kind() == reflect.Pointer {
			a, b = orZero(a), orZero(b)
		}
		switch compare := directions[name]; {
		case compare != nil && !compare(f, a.Interface(), b.Interface()):
			all = append(all, fmt.Sprintf("%s was %v and is %v", name, a, b))
		case compare != nil:
		case prefix == "" && b.Kind() == reflect.Struct:
			all = append(all, f.fields(directions, name+".", a, b)...)
		case !reflect.DeepEqual(a.Interface(), b.Interface()):
			all = append(all, "nobody says which direction of "+name+" restricts")
		}
	}
	return all
}

func orZero(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return reflect.Zero(v.Type().Elem())
	}
	return v.Elem()
}

// decisions compares what is decided about calls.
func (f *trustFuzz) decisions(without, with *config.Config) (all []string) {
	before, after := f.policy(without), f.policy(with)
	if before == nil || after == nil {
		return nil // nothing runs with a policy that has mistakes
	}
	for _, name := range []string{"rm", "read_file", "write_file", "run_command", "x", "sh"} {
		for _, risk := range []tool.Risk{tool.ReadOnly, tool.SafeWrite, tool.Dangerous} {
			for _, request := range []policy.Request{
				{Params: json.RawMessage(`{"path":"a.txt"}`), Permissions: []tool.Permission{tool.FileRead}},
				{Params: json.RawMessage(`{}`), Argv: []string{"rm", "-rf", "sub"},
					Permissions: []tool.Permission{tool.FileWrite}},
				{Params: json.RawMessage(`{"x":1}`), Shell: "git push && rm -rf x",
					Permissions: []tool.Permission{tool.ShellExec, tool.Network}},
				{Params: json.RawMessage(`{"x":2}`), Shell: "sh $(x)", Permissions: []tool.Permission{tool.ShellExec}},
			} {
				request.Tool, request.Risk = name, risk
				was, is := before.Decide(request), after.Decide(request)
				if looser(f, was, is) {
					all = append(all, fmt.Sprintf("%s %s %v was %s %v and is %s %v", risk, name, request, was.Action,
						was.Limits, is.Action, is.Limits))
				}
			}
		}
	}
	return all[:min(len(all), 1)]
}

// looser reports whether less stands in the way of a call. Of a review each limit
// counts.
func looser(f *trustFuzz, was, is policy.Decision) bool {
	order := []policy.Action{policy.Allow, policy.Review, policy.Ask, policy.Deny}
	if is.Action == policy.Review && was.Action == policy.Review {
		return !more(f, was.Limits, is.Limits)
	}
	return slices.Index(order, is.Action) < slices.Index(order, was.Action)
}

func (f *trustFuzz) policy(cfg *config.Config) *policy.Policy {
	made, err := policy.New(policyRules(cfg.Policy))
	for _, block := range cfg.Further {
		further, wrong := policy.New(policyRules(block))
		if err != nil || wrong != nil {
			return nil
		}
		made = made.And(further)
	}
	return made
}

// names are files of a workspace, some of which may be protected.
var names = []string{"a.txt", "sub/deep/a.txt", "pkg/a.txt", "pkg/x", "x", "agent.hcl", "sub/b", "pkg/sub/agent.hcl",
	".git/config", ".agent/Taskfile.yml", "here", "sh"}

// confinement compares what commands and file tools may do in the workspaces.
func (f *trustFuzz) confinement(without, with *config.Config) (all []string) {
	before, was := f.project(without)
	after, is := f.project(with)
	if before == nil || after == nil {
		return nil // it cannot be opened, and nothing runs
	}
	all = f.fields(settingsDirections, "confined.", reflect.ValueOf(was), reflect.ValueOf(is))
	wasKept, isKept := leading(was.Keep), leading(is.Keep)
	for _, name := range names {
		path := filepath.Join(before.Workspace.Root(), filepath.FromSlash(name))
		rel, err := filepath.Rel(after.Workspace.Root(), path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if real := leading([]string{path}); holdsOne(wasKept, real) && !holdsOne(isKept, real) {
			all = append(all, path+" can be changed by commands")
		}
		if protects(before, without, name) && !protects(after, with, filepath.ToSlash(rel)) {
			all = append(all, path+" can be changed by file tools")
		}
	}
	return all
}

// leading follows the links of paths that exist.
func leading(paths []string) (all []string) {
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		}
	}
	return all
}

// holdsOne reports whether one of some lies in one of paths.
func holdsOne(paths, some []string) bool {
	return slices.ContainsFunc(some, func(one string) bool {
		return slices.ContainsFunc(paths, func(path string) bool {
			rel, err := filepath.Rel(path, one)
			return err == nil && filepath.IsLocal(rel)
		})
	})
}

func protects(p *Project, cfg *config.Config, rel string) bool {
	for _, glob := range protectedGlobs(p.Workspace.Root(), cfg) {
		for at := rel; at != "."; at = filepath.Dir(at) {
			if doublestar.MatchUnvalidated(strings.ToLower(strings.TrimPrefix(glob, "/")), strings.ToLower(at)) {
				return true
			}
		}
	}
	return false
}

// project opens the workspace of a configuration, nil where that fails.
func (f *trustFuzz) project(cfg *config.Config) (*Project, sandbox.Settings) {
	p := &Project{options: Options{Logger: slog.New(slog.DiscardHandler)}}
	cfg = withExistingTrees(cfg, p.options.Logger)
	w, err := workspace.Open(cfg.Workspace.Root,
		workspace.Options{Allow: cfg.Workspace.Allow, Protect: protectedGlobs(cfg.Workspace.Root, cfg)})
	if err != nil {
		return nil, sandbox.Settings{}
	}
	f.Cleanup(func() { _ = w.Close() })
	p.Workspace = w
	settings := p.confineSettings(cfg)
	_ = w.Close()
	return p, settings
}
