package undo

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// maxCompared bounds the contents compared for one list of calls, in bytes.
const maxCompared = 64 << 20

// comparer compares the states before and after calls.
type comparer struct {
	ws       *workspace.Workspace
	storeDir *storeDir
	bytes    int
}

type pathChange struct{ before, after state }

// byCall returns the lines of each call, oldest first.
func (h *history) byCall() map[callRef][]*line {
	lines := make(map[callRef][]*line)
	for _, l := range slices.Backward(h.newestFirst()) {
		lines[l.ref()] = append(lines[l.ref()], l)
	}
	return lines
}

// changesOf returns the changes of a call by path, and the renamed paths by their former names.
func changesOf(lines []*line) (changes map[string]pathChange, renamed map[string]string) {
	changes, renamed = make(map[string]pathChange), make(map[string]string)
	note := func(path string, before, after state) {
		if known, ok := changes[path]; ok {
			before = known.before
		}
		changes[path] = pathChange{before, after}
	}
	for _, l := range lines {
		path := string(l.Path)
		switch workspace.Kind(l.Op) {
		case workspace.Rename:
			note(path, l.moved(), state{})
			note(string(l.To), state{}, l.moved())
		case workspace.Chmod:
			note(path, state{exists: true, mode: l.Mode}, state{exists: true, mode: l.NewMode})
		default:
			note(path, l.before(), l.after())
		}
	}
	gone := make(map[string]string) // by hash
	for path, c := range changes {
		if c.before.regular() && !c.after.exists && c.before.hash != "" {
			gone[c.before.hash] = path
		}
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		c := changes[path]
		if from := gone[c.after.hash]; from != "" && !c.before.exists && c.after.regular() {
			renamed[from] = path
			delete(gone, c.after.hash)
		}
	}
	return changes, renamed
}

// diff returns and counts a call's changes, each file from before to after it.
func (c *comparer) diff(changes map[string]pathChange, renamed map[string]string) (string, change.Summary) {
	summary := change.Summary{Paths: len(changes) - len(renamed), Renamed: len(renamed)}
	var all strings.Builder
	to := make(map[string]bool)
	for _, from := range slices.Sorted(maps.Keys(renamed)) {
		to[renamed[from]] = true
		all.WriteString("rename: " + from + " -> " + renamed[from] + "\n")
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		p := changes[path]
		if to[path] || renamed[path] != "" || p.before.hash == p.after.hash {
			continue
		}
		old, ok1, _ := c.text(path, p.before)
		is, ok2, since := c.text(path, p.after)
		switch {
		case ok1 && since:
			all.WriteString("(" + path + ": it was changed since, and what the call left there is not kept)\n")
			continue
		case !ok1 || !ok2:
			all.WriteString("(no diff of " + path + ")\n")
			summary.Partial = summary.Partial || c.bytes > maxCompared
			continue
		}
		oldName, newName := path, path
		if !p.before.exists {
			oldName = textedit.DevNull
		}
		if !p.after.exists {
			newName = textedit.DevNull
		}
		diff := textedit.Diff(oldName, newName, old, is, diffContext)
		summary.CountDiff(diff)
		if all.Len() < maxPreview {
			all.WriteString(diff)
		}
	}
	return all.String(), summary
}

// text returns the content of a state, from the store or from the file that still has it. since is set if the
// file has changed or is gone.
func (c *comparer) text(path string, s state) (data []byte, ok, since bool) {
	switch {
	case !s.exists:
		return nil, true, false
	case s.isLink():
		return []byte(s.link), s.link != "", false
	case !s.regular() || s.hash == "" || s.size > maxDiff || c.bytes > maxCompared:
		return nil, false, false
	}
	data, err := c.storeDir.get(s.hash)
	if err != nil && c.ws != nil {
		data, _, err = c.ws.ReadFile(path, maxDiff)
		if tool.CodeOf(err) == tool.NotFound || err == nil && workspace.Hash(data) != s.hash {
			return nil, false, true
		}
	}
	c.bytes += len(data)
	return data, err == nil && len(data) <= maxDiff, false
}

// CallDiff returns the changes of one call, each file from before to after it, whatever happened since. ws has
// the contents that are not in the store. Errors: not_found, invalid_argument for a name that several calls
// have.
func (s *Store) CallDiff(ctx context.Context, ws *workspace.Workspace, session, call string) (string, change.Summary,
	error) {
	none := tool.Errorf(tool.NotFound, "no change by a call %s is recorded", call).Suggest("List the changes with toolhost log --changed.")
	v, h, err := s.load(ctx)
	if err != nil || v == nil {
		return "", change.Summary{}, cmp.Or(err, error(none))
	}
	defer v.close()
	sel := Selection{Session: session, Call: call}
	if err := h.resolve(&sel); err != nil {
		return "", change.Summary{}, err
	}
	changes, renamed := changesOf(h.byCall()[callRef{sel.Session, call}])
	if len(changes) == 0 {
		return "", change.Summary{}, none
	}
	diff, summary := (&comparer{ws: ws, storeDir: v}).diff(changes, renamed)
	return diff, summary, nil
}
