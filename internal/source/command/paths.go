package command

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Paths returns a workspace's path checks for argv.
func Paths(ctx context.Context, w *workspace.Workspace) argv.Paths { return paths{ctx, w} }

type paths struct {
	ctx       context.Context // of the checked call
	workspace *workspace.Workspace
}

// Check implements argv.Paths.
func (p paths) Check(path string, use argv.Kind) error {
	access := workspace.Read
	switch use {
	case argv.Write, argv.Replace:
		access = workspace.Write
	case argv.Remove:
		access = workspace.Remove
	}
	abs, err := p.workspace.Check(path, access)
	if err != nil || use == argv.Replace || use == argv.Remove {
		return err
	}
	if err := plain(path, abs); err != nil || use != argv.Write {
		return err
	}
	info, err := os.Lstat(abs)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink < 2 {
		return nil
	}
	// Writing in place may change a file outside.
	return tool.Errorf(tool.PermissionDenied,
		"%s is a hard link: the file has further names, which may lie outside the workspace", path).
		Suggest("Remove it first, or write a new file and move that to its place.").With("path", path)
}

// plain refuses pipes, sockets and devices: opening one can block or have effects.
func plain(given, abs string) error {
	info, err := os.Stat(abs)
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice|fs.ModeIrregular) == 0 {
		return nil
	}
	return tool.Errorf(tool.Unsupported, "%s is a pipe, a socket or a device", given).
		Suggest("Name a regular file or a directory.").With("path", given)
}

// Glob implements argv.Paths. As in a shell, a leading dot must be literal.
func (p paths) Glob(pattern string) ([]string, error) {
	return p.workspace.Glob(p.ctx, pattern, workspace.GlobOptions{NoHidden: true})
}

// IsDir implements argv.Paths.
func (p paths) IsDir(path string) bool {
	info, err := p.workspace.Stat(path)
	return err == nil && info.IsDir()
}

// CheckTree implements argv.Paths.
func (p paths) CheckTree(source, target string) error {
	look := p.workspace.Lstat
	if strings.HasSuffix(source, "/") {
		look = p.workspace.Stat
	}
	info, err := look(source)
	if err != nil || !info.IsDir() {
		return nil // target was checked, and nothing is below it
	}
	var unseen error
	options := workspace.WalkOptions{Hidden: true, OnSkip: func(_ string, err error) { unseen = err }}
	base := ""
	err = p.workspace.Walk(p.ctx, source, options, func(e workspace.Entry) error {
		if base == "" {
			base = path.Dir(e.Path) // the first entry is directly in source
		}
		return p.Check(path.Join(target, relativeTo(e.Path, base)), argv.Write)
	})
	if err == nil {
		err = unseen
	}
	return err
}

// relativeTo returns name relative to the directory base above it.
func relativeTo(name, base string) string {
	if base == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
}
