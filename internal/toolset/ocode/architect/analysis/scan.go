package analysis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-enry/go-enry/v2"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

func (p *Project) scan(ctx context.Context, ws *workspace.Workspace) error {
	if err := p.list(ctx, ws); err != nil {
		return err
	}
	var wait sync.WaitGroup
	next := make(chan int)
	failed := make([]error, len(p.Files))
	count := newCounter()
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				failed[i] = p.Files[i].read(ws, p.Root, count)
			}
		})
	}
	for i := range p.Files {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	p.tellUnread(failed)
	p.manifests(ws)
	return nil
}

func (p *Project) list(ctx context.Context, ws *workspace.Workspace) error {
	dirs := make(map[string]bool)
	skipped := 0
	opts := workspace.WalkOptions{
		Gitignore: true, Hidden: true, SkipDirs: []string{".git", ".agent", ".hg", ".svn", "node_modules"},
		OnSkip: func(string, error) { skipped++ },
	}
	err := ws.Walk(ctx, p.Root, opts, func(e workspace.Entry) error {
		if e.Dir || e.Symlink || !e.Type.IsRegular() {
			return nil
		}
		if len(p.Files) == MaxFiles {
			p.Warnings = append(p.Warnings,
				fmt.Sprintf("only the first %d files were looked at; analyze a directory of the project to see the rest", MaxFiles))
			return fs.SkipAll
		}
		rel := e.Path
		if p.Root != "." {
			rel = strings.TrimPrefix(rel, p.Root+"/")
		}
		dirs[path.Dir(rel)] = true
		p.Files = append(p.Files, File{Path: rel})
		return nil
	})
	p.Directories = len(dirs)
	if skipped > 0 {
		p.Warnings = append(p.Warnings, plural(skipped, "directory", "directories")+" could not be read")
	}
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return err
}

func (p *Project) tellUnread(failed []error) {
	large, other := 0, 0
	for _, err := range failed {
		switch {
		case errors.Is(err, errLarge):
			large++
		case err != nil:
			other++
		}
	}
	if large > 0 {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("not read, as larger than %d MiB: %s", MaxFileSize>>20, plural(large, "file", "files")))
	}
	if other > 0 {
		p.Warnings = append(p.Warnings, plural(other, "file", "files")+" could not be read")
	}
}

var errLarge = errors.New("file too large to read")

func (f *File) read(ws *workspace.Workspace, root string, count *counter) error {
	f.Vendored = enry.IsVendor(f.Path)
	f.Test = isTest(f.Path)
	data, info, err := ws.ReadFile(path.Join(root, f.Path), MaxFileSize)
	if info != nil {
		f.Size = info.Size()
	}
	switch {
	case errors.Is(err, &tool.Error{Code: tool.TooLarge}):
		return errLarge
	case err != nil || enry.IsBinary(data):
		return err
	}
	f.Language = language(f.Path, data)
	if f.Language == "" {
		f.Lines = lines(data)
		return nil
	}
	f.kind = enry.GetLanguageType(f.Language)
	f.Generated = enry.IsGenerated(f.Path, data[:min(len(data), classified)])
	f.Counts = count.count(f.Path, f.Language, data)
	if f.programming() && !f.Vendored {
		f.source = readSource(f.Language, f.Path, data)
	}
	return nil
}

// classified is how much of a file is used to detect its language, in bytes.
const classified = 32 << 10

func language(name string, data []byte) string {
	return enry.GetLanguage(path.Base(name), data[:min(len(data), classified)])
}

// isTest reports whether a file holds tests, by common file and directory names.
func isTest(name string) bool {
	return enry.IsTest(name) || slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool {
		return dir == "test" || dir == "tests" || dir == "__tests__"
	})
}

// lines counts lines, including a last one without a newline.
func lines(data []byte) int64 {
	n := int64(bytes.Count(data, []byte("\n")))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
