package undo

import "slices"

// redone returns the call to take back: for a redo of an undone call, its undo.
func (h *history) redone(sel Selection) string {
	if !sel.Redo || sel.Call == "" {
		return sel.Call
	}
	for _, l := range h.newestFirst() {
		by, undone := h.undoneBy[l.ID]
		if undone && l.Call == sel.Call && (sel.Session == "" || l.Session == sel.Session) {
			return by.call
		}
	}
	return sel.Call
}

// redoneCalls returns the calls that stand again when lines of undos are undone.
func (h *history) redoneCalls(lines []*line) []string {
	var calls []string
	known := make(map[callRef]bool)
	for len(lines) > 0 {
		var undone []*line
		for _, l := range lines {
			if known[l.ref()] {
				continue
			}
			known[l.ref()] = true
			if h.level(l.ref()) == 0 && !slices.Contains(calls, l.Call) {
				calls = append(calls, l.Call)
			}
			for _, id := range h.undoes[l.ref()] {
				if of := h.byID[id]; of != nil {
					undone = append(undone, of)
				}
			}
		}
		lines = undone
	}
	return calls
}
