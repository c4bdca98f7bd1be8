package project

import (
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/atomicfile"
	"github.com/toolhost/toolhost/internal/files/realpath"
	"github.com/toolhost/toolhost/internal/keep/userdir"
	"github.com/toolhost/toolhost/internal/show"
)

// questionTime is how long a question that was too long to be shown is kept.
const questionTime = 24 * time.Hour

// KeepQuestion stores a question for approval in the user's own cache and gives
// the file. It is refused where tools may write there.
func (p *Project) KeepQuestion(text string) (file string, err error) {
	dir := userdir.Cache("questions")
	if dir == "" {
		return "", tool.Errorf(tool.Unavailable, "there is no place for questions").
			Suggest("Set HOME (or XDG_CACHE_HOME).")
	}
	for _, tree := range append([]string{p.Workspace.Root()}, p.Config().Workspace.Allow...) {
		if realpath.Within(dir, tree) {
			return "", tool.Errorf(tool.Unavailable, "questions cannot be kept in %s, where tools may write", dir).
				Suggest("Set XDG_CACHE_HOME to a directory outside the workspace.")
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
	for _, path := range old {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > questionTime {
			_ = os.Remove(path)
		}
	}
	file = filepath.Join(dir, show.Digest(text)[:16]+".txt")
	return file, atomicfile.Write(file, []byte(text), 0o600)
}
