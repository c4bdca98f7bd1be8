package record

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
)

// WorkspaceOf returns the path of the workspace with the state directory state, from its record; "" without
// one.
func WorkspaceOf(state string) string {
	segments, _ := filepath.Glob(filepath.Join(state, "record", "*.jsonl"))
	for _, path := range segments {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		line, err := bufio.NewReaderSize(file, 64<<10).ReadSlice('\n')
		file.Close()
		var first struct {
			Workspace string `json:"workspace"`
		}
		if err == nil && json.Unmarshal(line, &first) == nil && first.Workspace != "" {
			return first.Workspace
		}
	}
	return ""
}

// Missing reports whether this recorder's record does not exist.
func (r *Recorder) Missing() bool {
	if r.log == nil {
		return true
	}
	segments, err := r.log.segments()
	return err == nil && len(segments) == 0
}
