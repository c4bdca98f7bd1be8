package host

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// Without removes the tools with these names from a source, for others that replace them.
func Without(source Source, names ...string) Source {
	if len(names) == 0 {
		return source
	}
	return without{source, names}
}

type without struct {
	Source
	names []string
}

func (w without) Tools(ctx context.Context) ([]tool.Tool, error) {
	tools, err := w.Source.Tools(ctx)
	return w.filter(tools), err
}

func (w without) KnownTools() ([]tool.Tool, bool) {
	tools, ok := known(w.Source)
	return w.filter(tools), ok
}

// filter makes a new slice: the source's may be shared.
func (w without) filter(tools []tool.Tool) []tool.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool.Tool) bool {
		return slices.Contains(w.names, t.Definition().Name)
	})
}
