package clemini

import (
	"context"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const backupSuffix = ".bak"

type writeInput struct {
	Path    string `json:"file_path"`
	Content string `json:"content"`
	Backup  bool   `json:"backup"`
}

type writeResult struct {
	Success     bool `json:"success"`
	Bytes       int  `json:"bytes_written"`
	Created     bool `json:"created,omitempty"`
	Overwritten bool `json:"overwritten,omitempty"`
	Backup      bool `json:"backup_created,omitempty"`
}

func (in writeInput) file(deps Deps) (string, error) {
	file, err := deps.Workspace.Rel(in.Path)
	return file, writeError(err, in.Path)
}

// writeError is pathError for a file that may be missing.
func writeError(err error, path string) error {
	switch {
	case err == nil:
		return nil
	case tool.CodeOf(err) == tool.NotADirectory:
		part := notADirectory(tool.AsError(err), path)
		return tool.Errorf(tool.NotADirectory, "Not a directory: %s", part).
			Suggest("%s is a file, and nothing can be below it: choose another path.", part).With("path", path)
	}
	return pathError(err, path, "Check the directory; glob shows what there is.")
}

func runWrite(_ context.Context, deps Deps, _ *tool.Call, in writeInput) (*outcome, error) {
	file, err := in.file(deps)
	if err != nil {
		return nil, err
	}
	out := &outcome{Outcome: kit.Outcome{Files: []string{file}}}
	r := writeResult{Success: true, Bytes: len(in.Content)}
	if in.Backup {
		if r.Backup, err = keepBackup(deps.Workspace, in.Path); err != nil {
			return nil, err
		}
		if r.Backup {
			out.Files = append(out.Files, file+backupSuffix)
		}
	}
	r.Created, err = deps.Workspace.WriteFile(in.Path, []byte(in.Content), workspace.WriteOptions{Parents: true})
	if err != nil {
		return nil, writeError(err, in.Path)
	}
	r.Overwritten = !r.Created
	out.data = r
	return out, nil
}

// keepBackup copies an existing file's content beside it. Its errors are in the contract's words.
func keepBackup(ws *workspace.Workspace, path string) (kept bool, err error) {
	if _, err := ws.Check(path, workspace.Write); err != nil {
		return false, writeError(err, path)
	}
	old, _, err := ws.ReadFile(path, 0)
	if tool.CodeOf(err) == tool.NotFound {
		return false, nil
	}
	if err != nil {
		return false, writeError(err, path)
	}
	backup := path + backupSuffix
	_, err = ws.WriteFile(backup, old, workspace.WriteOptions{Like: path})
	if tool.CodeOf(err) == tool.IsDirectory {
		return false, tool.Errorf(tool.IsDirectory, "The backup cannot be written: %s is a directory", backup).
			Suggest("Call without backup, or keep the old content under another name first. Nothing was changed.").
			With("path", backup)
	}
	return err == nil, writeError(err, backup)
}

func planWrite(_ context.Context, deps Deps, in writeInput) (*tool.Plan, error) {
	file, err := in.file(deps)
	if err != nil {
		return nil, err
	}
	if _, err := deps.Workspace.Check(in.Path, workspace.Write); err != nil {
		return nil, writeError(err, in.Path)
	}
	old, _, err := deps.Workspace.ReadFile(in.Path, 0)
	oldName := file
	switch tool.CodeOf(err) {
	case "":
	case tool.NotFound:
		oldName = textedit.DevNull
	default:
		return nil, writeError(err, in.Path)
	}
	p := &tool.Plan{FilesAffected: []string{file}, Preview: textedit.Diff(oldName, file, old, []byte(in.Content), 3)}
	if in.Backup && old != nil {
		p.FilesAffected = append(p.FilesAffected, file+backupSuffix)
	}
	return p, nil
}
