// Package review reads, shows, and applies or discards what processes have changed in a copy-on-write view of
// the workspace.
package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

func unreadable(path string, err error) error {
	return tool.Errorf(tool.Unavailable, "what has changed in the view of %s cannot be read: %w", path, err).
		Suggest("Nothing was changed in the workspace. Call again.")
}

// Change is the change of one path in a view.
type Change struct {
	// Path is named as in the undo store: relative to the workspace, or absolute in another tree.
	Path string
	// Before is what the view saw, After what it holds.
	Before, After undo.State
	// Raced is set if the workspace no longer holds what the view saw.
	Raced bool
	// Linked is set for a file with further names (hard links), in the workspace or in the view. It is applied
	// as a separate file, which a real call might not have made.
	Linked bool

	old, new source
	now      func() (undo.State, error) // what the workspace holds
	// untouched reports whether the workspace is unchanged since it was examined, by what the system says of
	// it; false if unknown. It may be nil.
	untouched func(dirCache) bool
}

// dirCache has the directories known to exist, by absolute path.
type dirCache map[string]bool

// source reads the content of a file or the target of a link.
type source func() ([]byte, error)

// Changes are all changes of a view, sorted by path.
type Changes struct {
	List []Change
	// NotKept are the paths of pipes, sockets and devices, which stay in the view.
	NotKept []string
}

// What returns a word for what a change does.
func (c *Change) What() string {
	switch {
	case !c.Before.Exists:
		return "create"
	case !c.After.Exists:
		return "delete"
	case c.Before.Mode.Type() != c.After.Mode.Type():
		return "replace"
	case c.Before.Mode.IsDir() || c.Before.Hash == c.After.Hash:
		return "mode"
	}
	return "modify"
}

// Raced returns the paths that no longer hold what the view saw.
func (c *Changes) Raced() (names []string) {
	for i := range c.List {
		if c.List[i].Raced {
			names = append(names, c.List[i].Path)
		}
	}
	return names
}

// Digest identifies exactly these changes.
func (c *Changes) Digest() string {
	sum := sha256.New()
	for i := range c.List {
		for _, s := range []undo.State{c.List[i].Before, c.List[i].After} {
			mode := s.Mode
			if mode&fs.ModeSymlink != 0 {
				mode = fs.ModeSymlink
			}
			fmt.Fprintf(sum, "%q %t %o %s\n", c.List[i].Path, s.Exists, mode, s.Hash)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Limits of a diff: of a file, and in total.
const (
	mostOfFile = 1 << 20
	mostOfAll  = 8 << 20
)

const diffContext = 3

// Diff returns the changes for a person. What is too much is named by its digest.
func (c *Changes) Diff() string {
	var b strings.Builder
	come, gone := 0, 0
	for i := range c.List {
		switch change := &c.List[i]; {
		case !change.object():
		case change.After.Exists:
			come++
		default:
			gone++
		}
	}
	for _, change := range c.shortFirst() {
		b.WriteString(change.head())
		if b.Len() > mostOfAll {
			b.WriteString(change.unshown("too much is shown already"))
			continue
		}
		b.WriteString(change.diff())
	}
	if come > 0 {
		fmt.Fprintf(&b, "%d new objects of git are not shown\n", come)
	}
	if gone > 0 {
		fmt.Fprintf(&b, "REMOVED: %d objects of git: commits may be lost\n", gone)
	}
	for _, path := range c.NotKept {
		fmt.Fprintf(&b, "not kept: %s (a pipe, a socket or a device)\n", shown(path))
	}
	return b.String()
}

// shortFirst returns the changes except git's objects, in order. If they may be too much, the longest come
// last, so that noise hides nothing short.
func (c *Changes) shortFirst() (list []*Change) {
	total := int64(0)
	for i := range c.List {
		if change := &c.List[i]; !change.object() {
			list, total = append(list, change), total+change.Before.Size+change.After.Size
		}
	}
	if total > mostOfAll {
		length := make(map[*Change]int)
		for _, change := range list {
			length[change] = len(change.diff())
		}
		slices.SortStableFunc(list, func(a, b *Change) int { return length[a] - length[b] })
	}
	return list
}

func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// objectPath matches the paths of git's objects and their directories.
var objectPath = regexlimit.Lazy(`(?:^|/)\.git/objects/(?:pack|[0-9a-f]{2}(?:/[0-9a-f]{38,62})?|` +
	`pack/pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|bitmap))$`)

// object reports whether the change only makes or removes an object of git, whose name says what it holds, and
// nothing that a shell could run.
func (c *Change) object() bool {
	if !objectPath().MatchString(c.Path) || c.Before.Exists && c.After.Exists {
		return false
	}
	there, from := c.After, c.new
	if !there.Exists {
		there, from = c.Before, c.old
	}
	if there.Mode.IsDir() {
		return true
	}
	if !there.Mode.IsRegular() || there.Mode.Perm()&0o111 != 0 {
		return false
	}
	data, err := content(there, from)
	return err == nil && !isText(data)
}

// head describes what no diff of lines shows.
func (c *Change) head() string {
	var b strings.Builder
	was, is, name := c.Before, c.After, shown(c.Path)
	same := was.Exists && is.Exists && was.Mode.Type() == is.Mode.Type()
	if was.Exists && !same {
		fmt.Fprintf(&b, "remove %s: %s\n", kind(was.Mode), name)
	}
	if is.Exists && !same {
		mode := ""
		if is.Mode.IsRegular() && is.Mode.Perm()&0o111 != 0 {
			mode = fmt.Sprintf(" (mode %04o)", is.Mode.Perm())
		}
		fmt.Fprintf(&b, "new %s: %s%s\n", kind(is.Mode), name, mode)
	}
	if same && was.Mode&fs.ModeSymlink == 0 && was.Mode.Perm() != is.Mode.Perm() {
		fmt.Fprintf(&b, "mode: %s %04o -> %04o\n", name, was.Mode.Perm(), is.Mode.Perm())
	}
	if c.Linked {
		fmt.Fprintf(&b, "further names: %s has hard links, and is put in as a file of its own; "+
			"the real call would change it by all its names\n", name)
	}
	return b.String()
}

// shown quotes a path so that it takes one line.
func shown(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode.IsRegular():
		return "file"
	}
	return "special file"
}

func (c *Change) diff() string {
	if !holds(c.Before) && !holds(c.After) || c.Before.Hash == c.After.Hash {
		return ""
	}
	if c.Before.Size > mostOfFile || c.After.Size > mostOfFile {
		return c.unshown("too large")
	}
	old, err := content(c.Before, c.old)
	if err == nil {
		var is []byte
		if is, err = content(c.After, c.new); err == nil {
			oldName, newName := c.Path, c.Path
			if !holds(c.Before) {
				oldName = textedit.DevNull
			}
			if !holds(c.After) {
				newName = textedit.DevNull
			}
			if !isText(old) || !isText(is) {
				return c.unshown("not text")
			}
			return textedit.Diff(oldName, newName, old, is, diffContext)
		}
	}
	return c.unshown(err.Error())
}

// unshown replaces contents that are not shown.
func (c *Change) unshown(why string) string {
	if !holds(c.Before) && !holds(c.After) {
		return ""
	}
	name := func(s undo.State) string {
		if !holds(s) {
			return "nothing"
		}
		return fmt.Sprintf("%d bytes with SHA-256 %s", s.Size, s.Hash)
	}
	return fmt.Sprintf("(no diff of %s, %s: %s become %s)\n", shown(c.Path), why, name(c.Before), name(c.After))
}

func holds(s undo.State) bool {
	return s.Exists && (s.Mode.IsRegular() || s.Mode&fs.ModeSymlink != 0)
}

func content(s undo.State, from source) ([]byte, error) {
	if !holds(s) {
		return nil, nil
	}
	return from()
}
