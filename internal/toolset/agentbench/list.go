package agentbench

import (
	"context"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const listMax = 1000

type listInput struct {
	Root string `json:"root"`
	Glob string `json:"glob"`
}

type listData struct {
	Files     []string `json:"files"`
	Truncated bool     `json:"truncated,omitempty"`
	Omitted   int      `json:"files_omitted,omitempty"`
	Hint      string   `json:"hint,omitempty"`
}

func list(ctx context.Context, deps Deps, call *tool.Call, in listInput) (*outcome, error) {
	if in.Root == "" {
		in.Root = "."
	}
	root, err := kit.Listed(deps.Workspace, in.Root,
		"Name its directory as root, or read the file with read_file.")
	if err != nil {
		return nil, err
	}
	if err := checkListGlob(root, in.Glob); err != nil {
		return nil, err
	}
	data := listData{Files: []string{}}
	if !withinGit(root) {
		err = deps.Workspace.Walk(ctx, in.Root, listWalk(root, in.Glob), func(e workspace.Entry) error {
			if root != "." || e.Path != ownIgnore {
				data.addFile(root, in.Glob, e)
			}
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	if data.Omitted > 0 {
		data.Truncated = true
		data.Hint = "List a directory further down as root, or give a narrower glob, to see the rest."
	}
	return &outcome{data: data, Outcome: kit.Outcome{Truncated: data.Truncated}}, nil
}

func withinGit(root string) bool {
	for part := range strings.SplitSeq(root, "/") {
		if part == ".git" {
			return true
		}
	}
	return false
}

// checkListGlob refuses a glob that does not parse or leads out of root.
func checkListGlob(root, glob string) error {
	if !doublestar.ValidatePattern(glob) {
		return badGlob(glob)
	}
	if strings.HasPrefix(glob, "/") {
		return globEscapes(glob)
	}
	depth := 0
	if root != "." {
		depth = strings.Count(root, "/") + 1
	}
	up := false
	for part := range strings.SplitSeq(glob, "/") {
		switch part {
		case "..":
			up = true
			depth--
		case "", ".":
		default:
			depth++
		}
		if depth < 0 {
			return globEscapes(glob)
		}
	}
	if up {
		return tool.Errorf(tool.InvalidArgument, "the glob %q has .. in it", glob).
			Suggest("Name the directory as root, and what is in it as glob.").With("glob", glob)
	}
	return nil
}

func badGlob(glob string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "the glob %q does not parse", glob).
		Suggest("Close its brackets and braces; a backslash takes the next character as it is.").With("glob", glob)
}

func globEscapes(glob string) *tool.Error {
	return tool.Errorf(tool.PathOutsideWorkspace, "the glob %q leads out of the workspace", glob).
		Suggest("Give a pattern relative to root, without .. and without a slash at the start.").With("glob", glob)
}

// ownIgnore keeps toolhost's files in .agent out of git.
const ownIgnore = ".agent/.gitignore"

// listWalk looks no deeper than the glob does.
func listWalk(root, glob string) workspace.WalkOptions {
	o := workspace.WalkOptions{Hidden: true, SkipDirs: []string{".git"}}
	if root == "." {
		o.SkipDirs = append(o.SkipDirs, kit.OwnDirs()...) // but a root in .agent shows them
	}
	if glob != "" && !strings.Contains(glob, "**") {
		o.MaxDepth = strings.Count(glob, "/") + 1
	}
	return o
}

func (d *listData) addFile(root, glob string, e workspace.Entry) {
	if !e.Type.IsRegular() {
		return
	}
	name := e.Path
	if root != "." {
		name = strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
	}
	if glob != "" && !doublestar.MatchUnvalidated(path.Clean(glob), name) {
		return
	}
	if len(d.Files) >= listMax {
		d.Omitted++
		return
	}
	d.Files = append(d.Files, name)
}
