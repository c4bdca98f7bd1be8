package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// maxProtectScan limits the entries searched for a protected file in a directory to be moved or removed.
const maxProtectScan = 200_000

// Deciding returns the slash paths in a workspace that decide what agents may do. No tool and no confined command
// may change them.
func Deciding() []string {
	return []string{"agent.hcl", "agent.hcl.json", "agent.lock.hcl", ".agent/Taskfile.yml"}
}

// DecidingAnywhere returns the globs of those that apply in every directory, since any may become a
// workspace.
func DecidingAnywhere() []string {
	return []string{"agent.hcl*", "agent.lock.hcl", ".agent/Taskfile.yml"}
}

// DefaultProtect returns globs for Deciding, for files that the user's other programs obey, for toolhost's
// records, and for caches from which processes with other rights run programs.
func DefaultProtect() []string {
	globs := slices.Concat(Deciding(), gitOwn, []string{".agent/runs/**", ".agent/cache/granted/**",
		".agent/cache/sandbox/{go-build,go-mod,npm,xdg}/**"})
	for _, name := range slices.Concat(DecidingAnywhere(), obeyed.Names()) {
		globs = append(globs, name)
		globs = append(globs, "**/"+name)
	}
	return globs
}

type protection struct {
	given  []string
	folded []string
}

func newProtection(globs []string) (*protection, error) {
	if globs == nil {
		globs = DefaultProtect()
	}
	p := &protection{}
	for _, glob := range globs {
		folded := fold(strings.TrimPrefix(path.Clean(glob), "/"))
		if !doublestar.ValidatePattern(folded) {
			return nil, tool.Errorf(tool.InvalidArgument, "the glob %q in workspace.protect does not parse", glob).
				Suggest("Close its brackets and braces; ** stands for any directories.")
		}
		p.add(glob, folded)
		if whole := replaceDeep(folded, ""); whole != folded {
			p.add(glob, whole) // a protected directory includes its content
		}
	}
	return p, nil
}

func (p *protection) add(given, folded string) {
	p.given = append(p.given, given)
	p.folded = append(p.folded, folded)
}

// gitOwn are git's own files. A HEAD alone could turn its directory into a repository.
var gitOwn = []string{".git/**", "**/.git/**", "HEAD", "**/HEAD"}

// Restoring returns a view of the workspace in which git's own files may change, a batch replaces read-only files, and
// symlinks may be made even if they are not followed: it restores what a confined command changed there, as the sandbox
// allowed.
func (w *Workspace) Restoring() *Workspace {
	lifted := &protection{}
	for i, given := range w.protect.given {
		if !slices.Contains(gitOwn, given) {
			lifted.add(given, w.protect.folded[i])
		}
	}
	c := &core{trees: w.trees, symlinks: w.symlinks, protect: lifted, recorder: w.recorder, lockWait: w.lockWait,
		hidden: w.hidden, escape: w.escape, sync: w.sync, syncTogether: w.syncTogether, exchange: w.exchange,
		drafts: w.drafts, rename: w.rename, give: w.give, restoring: true}
	return &Workspace{core: c, ctx: w.ctx}
}

func (p *protection) match(rel string) (glob string, ok bool) {
	name := fold(rel)
	for end := 0; end <= len(name); end++ {
		if end < len(name) && name[end] != '/' {
			continue
		}
		for i, pattern := range p.folded {
			if doublestar.MatchUnvalidated(pattern, name[:end]) {
				return p.given[i], true
			}
		}
	}
	return "", false
}

// fold maps names that some file system treats as the same to one form: it drops case, and characters, trailing
// dots and blanks, and stream names that are ignored.
func fold(rel string) string {
	if isPlain(rel) {
		return rel
	}
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		part = strings.Map(foldRune, part)
		if name, _, stream := strings.Cut(part, ":"); stream && name != "" {
			part = name
		}
		if trimmed := strings.TrimRight(part, ". "); trimmed != "" {
			part = trimmed
		}
		if part == "git~1" {
			part = ".git"
		}
		parts[i] = part
	}
	return strings.Join(parts, "/")
}

// isPlain reports whether folding changes nothing, the usual case.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 || 'A' <= c && c <= 'Z' || c == ':' || c == '~' || c == ' ' ||
			c == '.' && (i+1 == len(s) || s[i+1] == '/') {
			return false
		}
	}
	return true
}

func foldRune(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1 // HFS+ ignores these
	case r < 0x80:
		return unicode.ToLower(r)
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

func protectedError(given, what, glob string) *tool.Error {
	return tool.Errorf(tool.PermissionDenied, "%s %s protected by %q", given, what, glob).
		Suggest("Leave it as it is, or ask the user, who can change workspace.protect in agent.hcl, the "+
			"block there that runs it with a grant, or the symlink that leads to it.").
		With("path", given).With("pattern", glob)
}

// permit refuses access that is not allowed.
func (c *core) permit(p *resolvedPath, access Access) error {
	if access == Read {
		return nil
	}
	if err := c.unprotected(p.given, p.rel); err != nil {
		return err
	}
	// The given name counts too: it may be a symlink.
	if t, rel, err := c.lexical(p.given); err == nil && (t != p.tree || rel != p.rel) {
		if err := c.unprotected(p.given, rel); err != nil {
			return err
		}
	}
	if err := c.disobeyed(p); err != nil {
		return err
	}
	if access == Write {
		return nil
	}
	if c.isTree(p.tree.join(p.rel)) {
		return tool.Errorf(tool.PermissionDenied, "%s is or holds a workspace directory itself", p.given).
			Suggest("Name something inside it.").With("path", p.given)
	}
	if access == RemoveEmpty {
		return nil
	}
	return c.holdsNone(p, p.rel)
}

func (c *core) unprotected(given, rel string) error {
	if glob, ok := c.protect.match(rel); ok {
		return protectedError(given, "is", glob)
	}
	return nil
}

// disobeyed refuses what git would take for a repository or its configuration, and what agents obey by a name that
// starts above an allowed directory.
func (c *core) disobeyed(p *resolvedPath) error {
	parts := strings.Split(fold(p.rel), "/")
	if c.restoring || slices.Contains(parts, ".git") { // covered by the globs
		return nil
	}
	parts = strings.Split(p.rel, "/")
	if above := strings.Split(filepath.ToSlash(p.tree.abs), "/"); !p.tree.main && obeyed.ByName(parts, above...) {
		return protectedError(p.given, "is", strings.Join(append(above, parts...), "/"))
	}
	for i := range parts {
		if at := p.tree.join(path.Join(parts[:i+1]...)); obeyed.Git(at, there) {
			return tool.Errorf(tool.PermissionDenied, "%s would be part of a git repository, which git obeys", p.given).
				Suggest("Choose another name, or ask the user to make the repository.").With("path", p.given)
		}
	}
	return nil
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (c *core) isTree(abs string) bool {
	for _, t := range c.trees {
		if _, ok := relativeTo(abs, t.abs); ok {
			return true
		}
	}
	return false
}

// holdsNone refuses a directory that holds a file which is protected, or would be if the directory were named rel.
func (c *core) holdsNone(p *resolvedPath, rel string) error {
	if p.missing() || !p.info.IsDir() || len(c.protect.folded) == 0 {
		return nil
	}
	dir, err := plainfile.In(p.dir, p.name)
	if err != nil {
		return c.fail("look into", p.given, err)
	}
	defer dir.Close()
	s := &protectScan{core: c, tree: p.tree, given: p.given, left: maxProtectScan}
	return s.scan(dir, rel)
}

type protectScan struct {
	*core
	tree  *tree
	given string
	left  int
}

func (s *protectScan) scan(dir *os.Root, rel string) error {
	entries, err := readNames(dir, s.left)
	if err != nil {
		return s.fail("look into", s.given, err)
	}
	s.left -= len(entries)
	if s.left <= 0 {
		return tool.Errorf(tool.TooLarge, "%s holds too many files to see whether one is protected", s.given).
			Suggest("Move or remove it in smaller parts.")
	}
	for _, e := range entries {
		name := path.Join(rel, e.name)
		if s.Hides(s.tree.join(name)) {
			return hiddenError(s.given + ", which holds " + name + ", which")
		}
		if glob, ok := s.protect.match(name); ok {
			return protectedError(s.given, "holds "+name+", which is", glob)
		}
		if e.mode.IsDir() {
			if err := s.enter(dir, e.name, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *protectScan) enter(dir *os.Root, name, rel string) error {
	sub, err := plainfile.In(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.fail("look into", s.given, err)
	}
	defer sub.Close()
	return s.scan(sub, rel)
}
