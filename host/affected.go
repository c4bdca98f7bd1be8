package host

import (
	"errors"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
)

func (c *call) affected(ended func() (files []string, note string, undo bool), err error) error {
	files, note, undo := ended()
	if len(files) == 0 && note == "" || errors.Is(err, tool.ErrInputRequired) {
		return err
	}
	extra := make(map[string]any)
	if note != "" {
		extra[change.NotKept] = note
	}
	if len(files) > 0 {
		told := change.Told(files, c.outcome.RequestID)
		if !undo {
			told = change.WithoutUndo(told, c.outcome.RequestID)
		}
		extra[change.Key] = told
	}
	if err != nil {
		e := tool.AsError(err)
		if len(files) > 0 {
			c.changed = change.Bounded(files)
			e = e.With("files_affected", c.changed)
		}
		if note != "" {
			e = e.With(change.NotKept, note)
		}
		c.told = extra
		return e
	}
	result := *c.outcome.Result
	all := append(slices.Clone(result.FilesAffected), files...)
	slices.Sort(all)
	all = slices.Compact(all)
	result.FilesAffected = change.Bounded(all)
	if len(all) > change.MostNames {
		extra["files_affected_total"] = len(all)
	}
	result.Metadata = with(result.Metadata, extra)
	c.outcome.Result = &result
	return nil
}

// with adds the host's metadata, which takes precedence, to a result's.
func with(metadata, extra map[string]any) map[string]any {
	all := maps.Clone(metadata)
	if all == nil {
		return extra
	}
	maps.Copy(all, extra)
	return all
}
