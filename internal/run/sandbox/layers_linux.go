package sandbox

import (
	"os"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
	"github.com/toolhost/toolhost/internal/run/view"
)

// layered has every place that a process may change be one of a view. Places in
// it that are only there to be held fast are taken from the view, too.
func layered(plan *launch.Plan, writable []string, v *view.View) error {
	if v == nil {
		return nil
	}
	plan.Layers = make(map[string]launch.Layer)
	for i := range plan.View {
		c := &plan.View[i]
		if c.Kind != launch.Writable {
			continue
		}
		if !slices.Contains(writable, c.Path) {
			c.Kind = launch.Again
			continue
		}
		if info, err := os.Stat(c.Path); err == nil && !info.IsDir() {
			return tool.Errorf(tool.Unsupported, "there is no view of %s, which is no directory", c.Path).
				Suggest("Grant the directory that it lies in (write in agent.hcl).")
		}
		layer, err := v.Layer(c.Path)
		if err != nil {
			return tool.Errorf(tool.Unavailable, "no view of %s can be made: %w", c.Path, err).
				Suggest("Make space in %s, or repair it.", v.Dir())
		}
		c.Kind, plan.Layers[c.Path] = launch.Overlay, launch.Layer{Upper: layer.Upper, Work: layer.Work}
	}
	return nil
}
