package host

import (
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// mostFiles is how many files a result names that its processes have changed.
const mostFiles = 1000

// affected adds what the processes of a call have changed to its result, or to
// its error.
func (c *call) affected(ended func() (files []string, note string), err error) error {
	files, note := ended()
	if len(files) == 0 && note == "" {
		return err
	}
	if err != nil {
		e := tool.AsError(err)
		if len(files) > 0 {
			c.changed = files[:min(len(files), mostFiles)]
			e = e.With("files_affected", c.changed)
		}
		if note != "" {
			e = e.With("not_kept", note)
		}
		return e
	}
	result := *c.outcome.Result
	all := append(slices.Clone(result.FilesAffected), files...)
	slices.Sort(all)
	all = slices.Compact(all)
	result.FilesAffected = all[:min(len(all), mostFiles)]
	extra := make(map[string]any)
	if len(all) > mostFiles {
		extra["files_affected_total"] = len(all)
	}
	if note != "" {
		extra["not_kept"] = note
	}
	if len(extra) > 0 {
		maps.Copy(extra, result.Metadata)
		result.Metadata = extra
	}
	c.outcome.Result = &result
	return nil
}
