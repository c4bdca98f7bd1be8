package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
)

// GlobOptions configure Glob. The zero value matches everything, including hidden entries and .git.
type GlobOptions struct {
	// Gitignore leaves out .git and what .gitignore files exclude.
	Gitignore bool
	// NoHidden leaves out entries whose name starts with a dot, unless the pattern names them: in its literal
	// prefix, or by a component that starts with a dot too.
	NoHidden bool
	// SkipDirs lists directories to leave out, see WalkOptions.
	SkipDirs []string
	// FilesOnly leaves out directories; symlinks stay, whatever their target.
	FilesOnly bool
	// Max limits the returned paths to the first in order; zero means no limit.
	Max int
}

// Glob returns the paths that match pattern, sorted bytewise: files, symlinks and directories, relative to the
// workspace or absolute in an allowed directory. In the pattern * and ? match any characters but a slash, ** any
// directories, [a-z] and [!a-z] sets, {a,b} alternatives; a backslash escapes the next character. A trailing slash
// matches directories only. Symlinked directories are followed only in the literal prefix. Without a match the list
// is empty.
//
// Errors: invalid_argument for a pattern that does not parse, path_outside_workspace, too_large, timeout and
// cancelled.
func (w *Workspace) Glob(ctx context.Context, pattern string, opts GlobOptions) ([]string, error) {
	base, rest, err := w.splitPattern(pattern)
	if err != nil {
		return nil, err
	}
	found, err := w.globBelow(ctx, base, rest, opts)
	if errors.Is(err, &tool.Error{Code: tool.NotFound}) || errors.Is(err, &tool.Error{Code: tool.NotADirectory}) {
		return []string{}, nil
	}
	return found, err
}

// splitPattern returns the literal directory prefix of the pattern, checked against the workspace, and the rest
// from the first wildcard, "" if there is none.
func (w *Workspace) splitPattern(pattern string) (base, rest string, err error) {
	slashed := pattern
	if filepath.Separator != '/' && !strings.ContainsAny(pattern, "/") {
		slashed = filepath.ToSlash(pattern)
	}
	if !doublestar.ValidatePattern(slashed) {
		return "", "", badPattern(pattern)
	}
	parts := splitParts(slashed)
	n := slices.IndexFunc(parts, func(s string) bool { return strings.ContainsAny(s, `*?[{\`) })
	if n < 0 {
		n = len(parts)
	}
	base, rest = strings.Join(parts[:n], "/"), strings.Join(parts[n:], "/")
	switch {
	case base == "" && strings.HasPrefix(slashed, "/"):
		base = "/"
	case base == "" && rest != "":
		base = "."
	}
	if hasDots(rest) {
		return "", "", tool.Errorf(tool.InvalidArgument, "the glob %q has .. after a wildcard", pattern).
			Suggest("Write out the directory that .. leads to, and the wildcards after it.").With("pattern", pattern)
	}
	if _, _, err := w.lexical(base); err != nil {
		return "", "", err
	}
	return base, rest, nil
}

// hasDots reports whether a component is "..", in any alternative.
func hasDots(rest string) bool {
	for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(`/{},\`, r) }) {
		if part == ".." {
			return true
		}
	}
	return false
}

// splitParts splits a pattern at slashes outside of braces and sets.
func splitParts(pattern string) []string {
	var parts []string
	depth, start, set := 0, 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case set:
			set = c != ']'
		case c == '[':
			set = true
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '/' && depth == 0:
			parts = append(parts, pattern[start:i])
			start = i + 1
		}
	}
	return append(parts, pattern[min(start, len(pattern)):])
}

func (w *Workspace) globBelow(ctx context.Context, base, rest string, opts GlobOptions) ([]string, error) {
	if rest == "" {
		return w.globPlain(base, opts)
	}
	root, real, t, err := w.openDir(base)
	if err != nil {
		return nil, err
	}
	root.Close()
	lexTree, lexRel, err := w.lexical(base)
	if err != nil {
		return nil, err
	}
	g := newGlobber(rest, real, opts)
	g.name = func(rel string) string { return lexTree.path(path.Join(lexRel, rel)) }
	if lexRel != "." && !opts.FilesOnly && doublestar.MatchUnvalidated("x/"+g.rest, "x") {
		g.found = append(g.found, g.name("")) // ** alone matches the directory itself
	}
	walk := WalkOptions{Gitignore: opts.Gitignore, Hidden: !opts.NoHidden || slices.ContainsFunc(g.parts, dotted),
		SkipDirs: opts.SkipDirs, enter: g.enter}
	err = w.Walk(ctx, t.join(real), walk, g.addMatch)
	return g.found, err
}

type globber struct {
	opts     GlobOptions
	rest     string   // the pattern
	fileRest string   // for files, which have nothing below them
	dirRest  string   // for directories, where ** matches nothing
	dirsOnly bool     // it ended in a slash
	parts    []string // its components
	base     string   // the real directory that it is relative to
	name     func(rel string) string
	found    []string
}

func newGlobber(rest, base string, opts GlobOptions) *globber {
	rest, dirsOnly := strings.CutSuffix(rest, "/")
	rest = strings.ReplaceAll(rest, "/./", "/")
	return &globber{
		opts: opts, rest: rest, dirsOnly: dirsOnly, base: base, parts: splitParts(rest), found: []string{},
		// a/** is a itself and everything below it. Match alone does not find a*/** in "a".
		fileRest: replaceDeep(rest, "/**/*"), dirRest: replaceDeep(rest, ""),
	}
}

func (g *globber) addMatch(e Entry) error {
	rel := under(g.base, e.rel)
	if !g.matches(rel, e.Dir) {
		return nil
	}
	g.found = append(g.found, g.name(rel))
	if g.opts.Max > 0 && len(g.found) >= g.opts.Max {
		return fs.SkipAll
	}
	return nil
}

// dotted reports whether a component matches names that start with a dot.
func dotted(part string) bool { return strings.HasPrefix(part, ".") }

// shows reports whether no name is left out as hidden: the pattern has a dot for each that starts with one.
func (g *globber) shows(names []string) bool {
	if !g.opts.NoHidden {
		return true
	}
	deep := func(part string) bool { return strings.Contains(part, "**") || strings.ContainsRune(part, '/') }
	first := slices.IndexFunc(g.parts, deep)
	for i, name := range names {
		at := i
		if first >= 0 && i >= first { // counted from the end
			if at = len(g.parts) - len(names) + i; at <= first || slices.ContainsFunc(g.parts[at:], deep) {
				at = first
			}
		}
		if dotted(name) && (at >= len(g.parts) || !dotted(g.parts[at])) {
			return false
		}
	}
	return true
}

func (g *globber) matches(rel string, dir bool) bool {
	if !g.shows(strings.Split(rel, "/")) {
		return false
	}
	if !dir {
		return !g.dirsOnly && doublestar.MatchUnvalidated(g.fileRest, rel)
	}
	return !g.opts.FilesOnly &&
		(doublestar.MatchUnvalidated(g.rest, rel) || doublestar.MatchUnvalidated(g.dirRest, rel))
}

// enter skips directories below which nothing can match.
func (g *globber) enter(rel string) bool {
	names := strings.Split(under(g.base, rel), "/")
	if !g.shows(names) {
		return false
	}
	for i, name := range names {
		if i >= len(g.parts) {
			return false
		}
		part := g.parts[i]
		if strings.Contains(part, "**") || strings.ContainsRune(part, '{') && strings.ContainsRune(part, '/') {
			return true
		}
		if !doublestar.MatchUnvalidated(part, name) {
			return false
		}
	}
	return len(names) < len(g.parts)
}

// replaceDeep replaces a trailing /** of a pattern and of each alternative in it.
func replaceDeep(pattern, with string) string {
	for _, end := range []string{"}", ","} {
		pattern = strings.ReplaceAll(pattern, "/**"+end, with+end)
	}
	if rest, ok := strings.CutSuffix(pattern, "/**"); ok {
		return rest + with
	}
	return pattern
}

// globPlain matches a pattern without wildcards: the path itself.
func (w *Workspace) globPlain(name string, opts GlobOptions) ([]string, error) {
	info, err := w.Lstat(name)
	if err != nil {
		return nil, err
	}
	if (opts.FilesOnly && info.IsDir()) || (!info.IsDir() && strings.HasSuffix(name, "/")) {
		return []string{}, nil
	}
	rel, err := w.Rel(name)
	if err != nil {
		return nil, err
	}
	return []string{rel}, nil
}

// under returns rel relative to base, both relative to the same tree.
func under(base, rel string) string {
	if base == "." {
		return rel
	}
	return strings.TrimPrefix(rel, base+"/")
}
