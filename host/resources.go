package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/nearest"
)

// Offerer is implemented by sources with resources and prompts.
type Offerer interface {
	Resources() []tool.Resource
	Prompts() []tool.Prompt
}

// Offering adds resources and prompts to a source.
func Offering(source Source, resources []tool.Resource, prompts []tool.Prompt) Source {
	return offering{source, resources, prompts}
}

type offering struct {
	Source
	resources []tool.Resource
	prompts   []tool.Prompt
}

func (o offering) KnownTools() ([]tool.Tool, bool) { return known(o.Source) }

func (o offering) Resources() []tool.Resource { return o.resources }

func (o offering) Prompts() []tool.Prompt { return o.prompts }

func (c *Catalog) addOffers(source Source) error {
	from, ok := find[Offerer](source)
	if !ok {
		return nil
	}
	for _, r := range from.Resources() {
		def := r.Resource()
		if chosen(c.toolset.Resources, def.Name) {
			if other := c.resourceOf(def.URI); other != nil {
				return twice("resources have the URI", def.URI, other.Source, source.Name())
			}
			c.resources = append(c.resources, offerEntry(source, r))
		}
	}
	for _, p := range from.Prompts() {
		name := p.Prompt().Name
		if chosen(c.toolset.Prompts, name) {
			if other, err := c.Prompt(name); err == nil {
				return twice("prompts are named", name, other.Source, source.Name())
			}
			c.prompts = append(c.prompts, offerEntry(source, p))
		}
	}
	return nil
}

func chosen(names []string, name string) bool { return names == nil || slices.Contains(names, name) }

func twice(what, name, one, other string) error {
	return tool.Errorf(tool.Conflict, "two %s %q: one of %s and one of %s", what, name, one, other).
		Suggest("Rename one of them.")
}

func offerEntry(source Source, t tool.Tool) *Entry {
	return &Entry{Name: t.Definition().Name, Source: source.Name(), Tool: t}
}

func (c *Catalog) resourceOf(uri string) *Entry {
	for _, e := range c.resources {
		if e.Tool.(tool.Resource).Resource().URI == uri {
			return e
		}
	}
	return nil
}

// Resources returns the offered resources. The Tool of each entry is a tool.Resource.
func (c *Catalog) Resources() []*Entry { return c.resources }

// Prompts returns the offered prompts. The Tool of each entry is a tool.Prompt.
func (c *Catalog) Prompts() []*Entry { return c.prompts }

// Resource returns a resource, and the parameters in its URI; resources without variables precede. The error is
// of code not_found.
func (c *Catalog) Resource(uri string) (*Entry, json.RawMessage, error) {
	for _, template := range []bool{false, true} {
		for _, e := range c.resources {
			r := e.Tool.(tool.Resource)
			if r.Resource().Template != template {
				continue
			}
			if params, ok := r.Match(uri); ok {
				return e, params, nil
			}
		}
	}
	return nil, nil, tool.Errorf(tool.NotFound, "there is no resource %q", uri).
		Suggest("Use one of the listed resources, or a URI that matches one of the templates.")
}

// Prompt returns a prompt by its name. The error is of code not_found.
func (c *Catalog) Prompt(name string) (*Entry, error) {
	names := make([]string, len(c.prompts))
	for i, e := range c.prompts {
		names[i] = e.Tool.(tool.Prompt).Prompt().Name
		if names[i] == name {
			return e, nil
		}
	}
	err := tool.Errorf(tool.NotFound, "there is no prompt named %q", name)
	return nil, err.Suggest("%s", nearest.Hint(name, names, "Use one of the listed prompts."))
}

// offer returns a resource or prompt by its name in policies.
func (c *Catalog) offer(name string) *Entry {
	for _, e := range slices.Concat(c.resources, c.prompts) {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Read reads the resource with the URI of the request's Tool, with policy, approval and record as for a call.
func (s *Session) Read(ctx context.Context, request Request) *Outcome {
	uri := request.Tool
	entry, params, err := s.host.Catalog().Resource(uri)
	if err != nil {
		return notOffered(request, err)
	}
	request.Tool, request.Params = entry.Name, params
	outcome := s.offered(ctx, entry, request)
	if outcome.Result != nil {
		for i := range outcome.Result.Contents {
			if outcome.Result.Contents[i].URI == "" {
				outcome.Result.Contents[i].URI = uri
			}
		}
	}
	return outcome
}

// Prompt returns the messages of the prompt that the request's Tool names. The contents have roles.
func (s *Session) Prompt(ctx context.Context, request Request) *Outcome {
	entry, err := s.host.Catalog().Prompt(request.Tool)
	if err != nil {
		return notOffered(request, err)
	}
	request.Tool = entry.Name
	return s.offered(ctx, entry, request)
}

func notOffered(request Request, err error) *Outcome {
	e := tool.AsError(err)
	return &Outcome{Tool: request.Tool, Err: e, Result: ErrorResult(e)}
}

func (s *Session) offered(ctx context.Context, entry *Entry, request Request) *Outcome {
	c := &call{host: s.host, session: s, request: request, started: time.Now(), entry: entry}
	return c.execute(ctx)
}

// Complete suggests values for an argument of a prompt, resource template or tool.
func (h *Host) Complete(ctx context.Context, entry *Entry, wanted tool.Completion) ([]string, error) {
	completer, ok := entry.Tool.(tool.Completer)
	if !ok {
		return nil, nil
	}
	values, err := guard(entry.Name, func() ([]string, error) { return completer.Complete(ctx, wanted) })
	if err != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	return values, nil
}

// Template returns the entry of a resource template by the template itself.
func (c *Catalog) Template(uri string) (*Entry, bool) {
	e := c.resourceOf(uri)
	return e, e != nil
}
