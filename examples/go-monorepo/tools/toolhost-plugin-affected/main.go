// Command toolhost-plugin-affected is a toolhost plugin that knows how the
// modules of a monorepo hang together.
package main

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/toolhost/toolhost/plugins/sdk"
)

type input struct {
	Files []string `json:"files" jsonschema:"Files that have changed, relative to the root of the repository."`
}

type output struct {
	Modules []string `json:"modules" jsonschema:"The directories of the modules to test."`
}

// module is one go.mod: where it is, and the directories that it takes others
// from.
type module struct {
	dir   string
	needs []string
}

func affected(ctx context.Context, call *sdk.Call, in input) (output, error) {
	modules, err := modulesOf(ctx, os.DirFS(call.Workspace))
	if err != nil {
		return output{}, err
	}
	found := make(map[string]bool)
	for _, file := range in.Files {
		if owner := ownerOf(modules, path.Clean(filepath.ToSlash(file))); owner != "" {
			found[owner] = true
		}
	}
	for grown := true; grown; { // until no module needs one that was found
		grown = false
		for _, m := range modules {
			if !found[m.dir] && slices.ContainsFunc(m.needs, func(dir string) bool { return found[dir] }) {
				found[m.dir], grown = true, true
			}
		}
	}
	result := output{Modules: slices.AppendSeq([]string{}, maps.Keys(found))} // a list, though it may be empty
	slices.Sort(result.Modules)
	return result, nil
}

// modulesOf reads every go.mod below a directory.
func modulesOf(ctx context.Context, root fs.FS) (modules []module, err error) {
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // not ours to read
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.Name() != "go.mod":
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return sdk.Errorf(sdk.NotFound, "%s cannot be read: %w", name, err)
		}
		file, err := modfile.Parse(name, data, nil)
		if err != nil {
			return sdk.Errorf(sdk.InvalidArgument, "%w", err).Suggest("Correct %s first.", name)
		}
		m := module{dir: path.Dir(name)}
		for _, r := range file.Replace {
			if modfile.IsDirectoryPath(r.New.Path) {
				m.needs = append(m.needs, path.Join(m.dir, r.New.Path))
			}
		}
		modules = append(modules, m)
		return nil
	})
	return modules, err
}

// ownerOf is the directory of the innermost module that holds a file.
func ownerOf(modules []module, file string) (owner string) {
	for _, m := range modules {
		if (m.dir == "." || strings.HasPrefix(file, m.dir+"/")) && len(m.dir) > len(owner) {
			owner = m.dir
		}
	}
	return owner
}

func main() {
	sdk.Serve(sdk.Plugin{Name: "affected", Version: "1.0.0", Tools: []sdk.Tool{sdk.Func(sdk.Definition{
		Name: "affected_modules",
		Description: "Tell which modules have to be tested after a change: those that hold a changed file, and all " +
			"that need them. Returns: an object with modules, a list of directories.",
		Risk:        sdk.ReadOnly,
		Permissions: []sdk.Permission{sdk.FileRead},
		Idempotent:  true,
		Examples:    []sdk.Example{{Params: []byte(`{"files":["libs/money/money.go"]}`)}},
	}, affected)}})
}
