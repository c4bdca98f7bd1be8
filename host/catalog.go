package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// Toolset is a selection of tools that is offered to a caller as one set.
type Toolset struct {
	// Name is what the caller requested, for messages.
	Name string
	// Tools are the names to offer, in this order; nil means all.
	Tools []string
	// Resources and Prompts are the names to offer; nil means all.
	Resources, Prompts []string
	// Rename maps names of tools to their names in this set.
	Rename map[string]string
	// Hide returns the decision by which a tool is left out, such as one that a policy always denies, nil for
	// others. The name is the tool's in the set. May be nil.
	Hide func(name string, def *tool.Definition) *Decision
	// Absent suggests what to do about an unknown tool; with "" only similar names are suggested. May be nil.
	Absent func(name string) string
	// Envelope is set for contracts whose tools answer with the contract's own result object.
	Envelope bool
	// Search makes faces offer models a search of the tools instead of the list.
	Search bool
}

// rename returns the name in this set of a tool with these names.
func (t *Toolset) rename(own, portable string) string {
	for _, name := range []string{own, portable} {
		if renamed, ok := t.Rename[name]; ok {
			return renamed
		}
	}
	return portable
}

// Entry is one tool of a catalog.
type Entry struct {
	// Name is what callers of this catalog use; the tool's own name may differ.
	Name   string
	Source string
	Tool   tool.Tool

	foreign bool // see Foreign

	compiling sync.Once
	schema    *schema.Schema
	invalid   error

	findingSecrets sync.Once
	secrets        *schema.Secrets

	compilingReturns sync.Once
	returns          *schema.Schema
	invalidReturns   error
}

// Definition returns the tool's definition under its name here.
func (e *Entry) Definition() *tool.Definition {
	def := e.Tool.Definition()
	if def.Name == e.Name {
		return def
	}
	renamed := *def
	renamed.Name = e.Name
	return &renamed
}

// Foreign reports whether the tool is foreign, see the function Foreign.
func (e *Entry) Foreign() bool { return e.foreign }

// Schema returns the compiled schema of the parameters.
func (e *Entry) Schema() (*schema.Schema, error) {
	e.compiling.Do(func() { e.schema, e.invalid = schema.Compile(e.Tool.Definition().Parameters) })
	return e.schema, e.invalid
}

// secretParameters returns what the parameters' schema marks as writeOnly, nil if nothing.
func (e *Entry) secretParameters() *schema.Secrets {
	e.findingSecrets.Do(func() { e.secrets = schema.SecretsOf(e.Tool.Definition().Parameters) })
	return e.secrets
}

// Returns returns the compiled schema of structured results; may be nil.
func (e *Entry) Returns() (*schema.Schema, error) {
	e.compilingReturns.Do(func() {
		if returns := e.Tool.Definition().Returns; len(returns) > 0 {
			e.returns, e.invalidReturns = schema.Compile(returns)
		}
	})
	return e.returns, e.invalidReturns
}

// Problem is a source that could not provide its tools.
type Problem struct {
	Source string
	Err    *tool.Error
}

// Catalog is an unchanging list of tools.
type Catalog struct {
	toolset  Toolset
	entries  []*Entry
	byName   map[string]*Entry
	problems []Problem
	leftOut  []LeftOut
	warnings []LeftOut
	hidden   map[string]Decision
	withheld map[string]*Entry // not offered; the record must still know their secrets

	resources []*Entry
	prompts   []*Entry
}

// Entries returns the tools in the order of the toolset, or of the sources. The caller must not change the
// slice.
func (c *Catalog) Entries() []*Entry { return c.entries }

// Problems returns the sources that provided no tools.
func (c *Catalog) Problems() []Problem { return c.problems }

// LeftOut returns what a source declares or a toolset names but is not offered.
func (c *Catalog) LeftOut() []LeftOut { return c.leftOut }

// Hidden returns the names of the tools that the toolset hides.
func (c *Catalog) Hidden() []string { return slices.Sorted(maps.Keys(c.hidden)) }

// Toolset returns the selection that the catalog was built for.
func (c *Catalog) Toolset() Toolset { return c.toolset }

// Lookup returns a tool by its name. The error is a *tool.Error of code not_found with similar names.
func (c *Catalog) Lookup(name string) (*Entry, error) {
	if e, ok := c.byName[name]; ok {
		return e, nil
	}
	absent := ""
	if c.toolset.Absent != nil {
		absent = c.toolset.Absent(name)
	}
	if d, hidden := c.hidden[name]; hidden {
		if absent != "" {
			return nil, tool.Errorf(tool.Denied, "the tool %q is not offered", name).Suggest("%s", absent)
		}
		return nil, denied(name, d)
	}
	for _, left := range c.leftOut {
		if left.Name == name {
			return nil, left.Err
		}
	}
	err := tool.Errorf(tool.NotFound, "there is no tool named %q", name)
	if absent != "" {
		return nil, err.Suggest("%s", absent)
	}
	const list = "Run toolhost list to see all tools."
	if hint := nearest.Hint(name, c.names(), list); hint != list {
		return nil, err.Suggest("%s", hint)
	}
	for _, p := range c.problems {
		return nil, err.Suggest("%s gives no tools now: %s. %s", p.Source, strings.TrimSuffix(p.Err.Message, "."),
			p.Err.Suggestion)
	}
	return nil, err.Suggest(list)
}

func (c *Catalog) names() []string {
	names := make([]string, len(c.entries))
	for i, e := range c.entries {
		names[i] = e.Name
	}
	return names
}

// buildCatalog asks all sources for their tools concurrently, and selects.
func buildCatalog(ctx context.Context, sources []Source, toolset Toolset) (*Catalog, error) {
	sources = slices.SortedStableFunc(slices.Values(sources), ownFirst)
	lists, errs := gather(ctx, sources)
	count := 0
	for _, list := range lists {
		count += len(list)
	}
	c := &Catalog{toolset: toolset, entries: make([]*Entry, 0, count), byName: make(map[string]*Entry, count),
		withheld: make(map[string]*Entry), hidden: make(map[string]Decision)}
	for i, source := range sources {
		if errs[i] != nil {
			c.problems = append(c.problems, Problem{source.Name(), tool.AsError(errs[i])})
		}
		if err := c.addOffers(source); err != nil {
			return nil, err
		}
		for _, t := range lists[i] {
			if err := c.add(source, t); err != nil {
				return nil, err
			}
		}
	}
	return c, c.arrange(slices.ContainsFunc(sources, isForeign))
}

// Known is implemented by sources that may know their tools without waiting: those are listed one by one, the
// others concurrently.
type Known interface {
	// KnownTools returns what Tools would, and false if Tools may have to wait.
	KnownTools() (tools []tool.Tool, ok bool)
}

func known(source Source) ([]tool.Tool, bool) {
	if k, ok := source.(Known); ok {
		return k.KnownTools()
	}
	return nil, false
}

func gather(ctx context.Context, sources []Source) ([][]tool.Tool, []error) {
	lists, errs := make([][]tool.Tool, len(sources)), make([]error, len(sources))
	var wg sync.WaitGroup
	for i, source := range sources {
		tools, ok := known(source)
		if ok {
			lists[i] = tools
			continue
		}
		wg.Go(func() { lists[i], errs[i] = source.Tools(ctx) })
	}
	wg.Wait()
	return lists, errs
}

func (c *Catalog) add(from Source, t tool.Tool) error {
	source, def := from.Name(), t.Definition()
	own := prefixOf(from) + def.Name
	name := PortableName(own)
	if isForeign(from) {
		name = foreignName(own)
	}
	e := &Entry{Name: name, Source: source, Tool: t, foreign: isForeign(from)}
	if c.toolset.Tools != nil && !slices.Contains(c.toolset.Tools, name) && !slices.Contains(c.toolset.Tools, own) {
		c.withheld[name] = e
		return nil
	}
	name = c.toolset.rename(own, name)
	e.Name = name
	if c.toolset.Hide != nil {
		if d := c.toolset.Hide(name, def); d != nil {
			c.hidden[name], c.withheld[name] = *d, e
			return nil
		}
	}
	if other, taken := c.byName[name]; taken && isForeign(from) {
		c.leaveOut(name, from, nameTaken("tool", name, from, other.Source))
		return nil
	} else if taken {
		return tool.Errorf(tool.Conflict, "two tools are named %q: one of %s and one of %s", name, other.Source,
			source).
			Suggest("Rename one of them: in agent.hcl change its label, give its plugin a prefix, or use rename in a toolset block.")
	}
	if err := refusal(from, t); err != nil {
		c.leaveOut(name, from, err)
		c.withheld[name] = e
		return nil
	}
	c.entries = append(c.entries, e)
	c.byName[name] = e
	if w, ok := t.(interface{ Warning() *tool.Error }); ok && w.Warning() != nil {
		c.warnings = append(c.warnings, LeftOut{name, source, w.Warning()})
	}
	return nil
}

// arrange orders the entries as the toolset does. An unknown name is an error unless some tools are foreign: a
// server that stops offering one must not stop the others.
func (c *Catalog) arrange(foreign bool) error {
	if c.toolset.Tools == nil {
		return nil
	}
	ordered := make([]*Entry, 0, len(c.entries))
	for _, name := range c.toolset.Tools {
		other := c.byName[c.toolset.rename(name, foreignName(name))]
		name = c.toolset.rename(name, PortableName(name))
		if e, ok := c.byName[name]; ok {
			ordered = append(ordered, e)
			continue
		}
		if other != nil {
			ordered = append(ordered, other)
			continue
		}
		if _, hidden := c.hidden[name]; hidden || len(c.problems) > 0 || c.isLeftOut(name) {
			continue
		}
		missing := tool.Errorf(tool.NotFound, "toolset %q names a tool that does not exist: %q", c.toolset.Name, name).
			Suggest("Correct the name, declare the tool, or remove it from the toolset; the list of tools without " +
				"a toolset names them all.")
		if !foreign {
			return missing
		}
		c.leftOut = append(c.leftOut, LeftOut{name, "toolset " + c.toolset.Name, missing})
	}
	c.entries = ordered
	return nil
}

// Tools returns a source of the given tools, for built-ins and embedding programs.
func Tools(name string, tools ...tool.Tool) Source { return given{name, tools} }

type given struct {
	name  string
	tools []tool.Tool
}

func (g given) Name() string { return g.name }

func (g given) Tools(context.Context) ([]tool.Tool, error) { return g.tools, nil }

func (g given) KnownTools() ([]tool.Tool, bool) { return g.tools, true }

// Prefixed adds a prefix to the names of a source's tools.
func Prefixed(source Source, prefix string) Source {
	if prefix == "" {
		return source
	}
	return prefixed{source, prefix}
}

type prefixed struct {
	Source
	prefix string
}

func (p prefixed) KnownTools() ([]tool.Tool, bool) { return known(p.Source) }
