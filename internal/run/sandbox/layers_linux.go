package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
	"github.com/toolhost/toolhost/internal/run/view"
)

// layered replaces every writable place by one of a view. Places in it that only hold something fast come from
// the view too.
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
		layer, err := layerOf(v, c.Path)
		if err != nil {
			return tool.Errorf(tool.Unavailable, "no view of %s can be made: %w", c.Path, err).
				Suggest("Make space in %s, or repair it.", v.Dir())
		}
		c.Kind, plan.Layers[c.Path] = launch.Overlay, launch.Layer{Upper: layer.Upper, Work: layer.Work}
	}
	return nil
}

// layerOf returns the layer of a tree: of overlayfs, or else a copy.
func layerOf(v *view.View, tree string) (view.Layer, error) {
	layer, err := v.Layer(tree)
	if err != nil || layer.Copied {
		return layer, err
	}
	works := overlays(layer)
	if works == nil {
		return v.Layer(tree) // the kernel wants its directory empty again
	}
	if layer, err = v.Copy(tree); err != nil {
		err = fmt.Errorf("overlayfs does not work there (%w), and it cannot be copied: %w", works, err)
	}
	return layer, err
}

// overlaid caches the results of overlays, by tree.
var overlaid sync.Map

// overlays reports whether a layer can be mounted over its tree.
func overlays(layer view.Layer) error {
	if known, ok := overlaid.Load(layer.Tree); ok {
		err, _ := known.(error)
		return err
	}
	plan := &launch.Plan{Namespaces: true, Dir: "/", View: []launch.Change{{Kind: launch.Overlay, Path: layer.Tree}},
		Layers: map[string]launch.Layer{layer.Tree: {Upper: layer.Upper, Work: layer.Work}}}
	cmd := &exec.Cmd{Env: []string{}, Dir: "/"} // without a program
	err := plan.Apply(cmd, []string{})
	if err == nil {
		defer closeFiles(cmd.ExtraFiles)
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil && len(out) > 0 {
			err = fmt.Errorf("%s", strings.TrimSpace(string(out)))
		}
	}
	overlaid.Store(layer.Tree, err)
	return err
}
