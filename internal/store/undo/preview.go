package undo

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

const (
	diffContext = 3
	maxDiff     = 1 << 20  // largest file with a diff, in bytes
	maxPreview  = 1 << 20  // bytes of a preview
	maxShown    = 16 << 10 // bytes of a diff in an error
)

func (p *planner) preview() string {
	var b strings.Builder
	for _, o := range p.ops {
		if b.Len() > maxPreview {
			b.WriteString(change.Cut)
			break
		}
		b.WriteString(p.describe(o))
	}
	return b.String()
}

func (p *planner) describe(o op) string {
	switch o.kind {
	case opRename:
		return fmt.Sprintf("rename: %s -> %s\n", o.path, o.to)
	case opMkdir:
		return fmt.Sprintf("new directory: %s\n", o.path)
	case opRmdir:
		return fmt.Sprintf("remove directory: %s (if nothing else is in it)\n", o.path)
	case opSymlink:
		return fmt.Sprintf("new symbolic link: %s -> %s\n", o.path, o.want.link)
	case opChmod:
		return fmt.Sprintf("mode: %s %04o -> %04o\n", o.path, o.base.mode.Perm(), o.want.mode.Perm())
	}
	head := ""
	switch {
	case o.kind == opFile && o.base.isLink():
		return fmt.Sprintf("remove symbolic link: %s -> %s\n", o.path, o.base.link)
	case !o.base.exists:
		head = "new file: " + o.path + "\n"
	case !o.want.exists:
		head = "remove file: " + o.path + "\n"
	case o.base.mode.Perm() != o.want.mode.Perm():
		head = fmt.Sprintf("mode: %s %04o -> %04o\n", o.path, o.base.mode.Perm(), o.want.mode.Perm())
	}
	return head + p.diff(o.path, o.base, o.want)
}

// diff returns the change of a file, if both contents are available and not too large.
func (p *planner) diff(path string, from, to state) string {
	old, ok1 := p.text(path, from)
	new, ok2 := p.text(path, to)
	if !ok1 || !ok2 {
		return fmt.Sprintf("(no diff of %s: %d -> %d bytes)\n", path, from.size, to.size)
	}
	oldName, newName := path, path
	if !from.exists {
		oldName = textedit.DevNull
	}
	if !to.exists {
		newName = textedit.DevNull
	}
	return textedit.Diff(oldName, newName, old, new, diffContext)
}

// text returns the content of a state, from the store or from the file that has it.
func (p *planner) text(path string, s state) ([]byte, bool) {
	switch {
	case !s.exists:
		return nil, true
	case s.mode&fs.ModeSymlink != 0:
		return []byte(s.link), true
	case !s.regular() || s.size > maxDiff:
		return nil, false
	case s.info != nil:
		real, ok := p.view.realFile(path, s.info)
		if !ok {
			return nil, false
		}
		data, _, err := p.view.ws.ReadFile(real, maxDiff)
		return data, err == nil
	}
	data, err := p.storeDir.get(s.hash)
	return data, err == nil && len(data) <= maxDiff
}

// conflictError names the files in conflict, with two diffs of the first that has one: "since", from what the
// call left to the present, if known, and "back", from there to what undo would have restored, which the
// message shows.
func (p *planner) conflictError() error {
	var found reasons
	since, back := "", ""
	for _, c := range p.problems {
		found.add(c.path, c.what+p.culprit(c))
		if since == "" && back == "" {
			since, back = p.conflictDiffs(c)
		}
	}
	e := tool.Errorf(tool.Conflict, "cannot undo %s, nothing was changed: %s", p.callNames(), found.list("%s %s", "; ")).
		Suggest("Undo the later changes first, leave these files out (--skip), or also replace the later changes "+
			"(--ours), which can be undone.").With("paths", found.paths())
	if slices.ContainsFunc(p.problems, func(c problem) bool { return strings.HasSuffix(c.what, tooLarge) }) {
		e.Suggestion = "Leave these files out (--skip), or replace or remove them all the same (--ours): those that are " +
			"too large cannot be brought back then."
	}
	if back != "" {
		e.Message += "\nThis would come back (+) in place of what is there (-):\n" + back
		_ = e.With("since", since).With("back", back)
	}
	return e
}

type reasons struct {
	order []string
	of    map[string][]string // paths, by reason
}

func (r *reasons) add(path, why string) {
	if r.of == nil {
		r.of = make(map[string][]string)
	}
	if r.of[why] == nil {
		r.order = append(r.order, why)
	}
	r.of[why] = append(r.of[why], path)
}

// list formats the paths of each reason, with bounded length.
func (r *reasons) list(form, between string) string {
	var texts []string
	for i, why := range r.order {
		if i == change.MostNames {
			texts = append(texts, fmt.Sprintf("and %d more", len(r.order)-i))
			break
		}
		texts = append(texts, fmt.Sprintf(form, change.Names(sorted(r.of[why])), why))
	}
	return strings.Join(texts, between)
}

func (r *reasons) paths() []string {
	return change.Bounded(sorted(slices.Concat(slices.Collect(maps.Values(r.of))...)))
}

func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (p *planner) conflictDiffs(c problem) (since, back string) {
	e := p.view.entries[c.path]
	if e == nil || e.base.isDir() {
		return "", ""
	}
	shown := func(from, to state) string {
		diff := p.diff(c.path, from, to)
		if len(diff) > maxShown {
			diff = truncate.Head(diff, maxShown) + "\n(the rest of the diff is not shown)\n"
		}
		return diff
	}
	left := c.line.after()
	if left.exists && p.storeDir.has(left.hash) {
		since = shown(left, e.base)
	}
	if since != "" || c.wanted.exists || left.exists {
		back = shown(e.base, c.wanted)
	}
	return since, back
}

// culprit returns a later call that left the file as it is, or "".
func (p *planner) culprit(c problem) string {
	e := p.view.entries[c.path]
	for _, l := range slices.Backward(p.history.lines) {
		if l.ID <= c.line.ID {
			continue
		}
		_, undone := p.history.undoneBy[l.ID]
		if undone || l.ref() == c.line.ref() || string(l.Path) != c.path && string(l.To) != c.path {
			continue
		}
		content := l.Op != string(workspace.Rename) && l.Op != string(workspace.Chmod)
		if content && e != nil && !e.base.holds(l.after()) {
			return "" // changed by hand, after that call
		}
		return " (by the call " + l.Call + ")"
	}
	return ""
}
