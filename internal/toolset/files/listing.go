package files

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// shownBytes limits a listing, about like a command's output.
const shownBytes = 64 << 10

// shownCost returns the size of a name in a JSON array.
func shownCost(name string) int { return len(name) + len(`"",`) }

// levels are the names below a directory. If there are too many, the deepest level is dropped
// first: an overview of the whole tree remains, not its start.
type levels struct {
	names  []string
	bytes  int
	lowest int // deepest level kept; 0 while all are
	left   int // names left out
}

func level(name string) int { return strings.Count(strings.TrimSuffix(name, "/"), "/") + 1 }

func (l *levels) add(name string) {
	if l.lowest > 0 && level(name) > l.lowest || l.lowest == 1 && l.bytes > shownBytes {
		l.left++
		return
	}
	l.names, l.bytes = append(l.names, name), l.bytes+shownCost(name)
	for l.bytes > shownBytes && l.lowest != 1 {
		l.dropLevel()
	}
}

func (l *levels) dropLevel() {
	deepest := 1
	for _, name := range l.names {
		deepest = max(deepest, level(name))
	}
	l.lowest = max(1, deepest-1)
	l.names = slices.DeleteFunc(l.names, func(name string) bool {
		if level(name) <= l.lowest {
			return false
		}
		l.bytes -= shownCost(name)
		l.left++
		return true
	})
}

func (l *levels) result() *tool.Result {
	switch {
	case l.left == 0:
		return listing(l.names, "")
	case l.bytes > shownBytes:
		return listing(l.names, fmt.Sprintf("[%d more entries left out; find them by name with glob]", l.left))
	case l.lowest == 1:
		return listing(l.names, fmt.Sprintf("[%d entries further down left out; name a directory in path to see what is in it]", l.left))
	}
	return listing(l.names, fmt.Sprintf(
		"[%d entries below the first %d levels left out; name a directory in path to see what is in it]", l.left, l.lowest))
}

func first(names []string) []string {
	bytes := 0
	for i, name := range names {
		if bytes += shownCost(name); bytes > shownBytes {
			return names[:i+1]
		}
	}
	return names
}

func listing(names []string, note string) *tool.Result {
	r := tool.Text(string(tool.MustMarshal(append([]string{}, names...))))
	if note != "" {
		r.Truncated = true
		r.Contents = append(r.Contents, tool.Text(note).Contents...)
	}
	return r
}

type globInput struct {
	Pattern string `json:"pattern"`
}

func runGlob(ctx context.Context, d deps, _ *tool.Call, in globInput) (*tool.Result, error) {
	if in.Pattern == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "glob pattern cannot be empty").
			Suggest("Give a pattern such as **/*.go.")
	}
	// toolhost's directory is left out, as in list_files, unless the pattern starts with it; the
	// same for its subdirectories.
	hidden := append(kit.OwnDirs(), ".agent")
	names, err := d.workspace.Glob(ctx, in.Pattern, workspace.GlobOptions{Gitignore: true, SkipDirs: hidden})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return tool.Text(noMatches), nil
	}
	shown := first(names)
	if left := len(names) - len(shown); left > 0 {
		return listing(shown, fmt.Sprintf("[%d more paths left out; narrow the pattern to see them]", left)), nil
	}
	return listing(shown, ""), nil
}

func runList(ctx context.Context, d deps, _ *tool.Call, in pathInput) (*tool.Result, error) {
	if in.Path == "" {
		in.Path = "."
	}
	dir, err := kit.Listed(d.workspace, in.Path, "Use read_file to see what is in it.")
	if err != nil {
		return nil, err
	}
	var found levels
	err = d.workspace.Walk(ctx, in.Path, workspace.WalkOptions{Hidden: true, SkipDirs: []string{".git", ".agent"}},
		func(e workspace.Entry) error {
			found.add(relativeTo(dir, e))
			return nil
		})
	if err != nil {
		return nil, err
	}
	return found.result(), nil
}

func relativeTo(dir string, e workspace.Entry) string {
	name := e.Path
	if dir != "." {
		name = strings.TrimPrefix(strings.TrimPrefix(name, path.Clean(dir)), "/")
	}
	if e.Dir {
		name += "/"
	}
	return name
}
