package clemini

import (
	"context"

	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// backupSuffix ends the name of a backup.
const backupSuffix = ".bak"

func writeFile(deps *Deps) tool.Tool {
	return &plannedTool{plan: planWrite, contractTool: &contractTool{deps: deps, work: runWrite, definition: &tool.Definition{
		Name: "write_file", Title: "Write file", Category: "file",
		Description: "Write a whole file: a new one, with the directories that are missing, or in place of the old content. " +
			"Use edit to change a part of a file. " +
			"Returns: {success, bytes_written, created?, overwritten?, backup_created?}",
		Parameters: object(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"Path of the file, absolute or relative to the workspace."},` +
			`"content":{"type":"string","description":"The new content, all of it."},` +
			`"backup":{"type":"boolean","description":"Keep the old content beside the file, under its name with .bak. (default: false)","default":false}` +
			`},"required":["file_path","content"],"additionalProperties":false}`),
		Returns: returns(`"success":{"type":"boolean"},"bytes_written":{"type":"integer"},"created":{"type":"boolean","description":"True for a new file."},`+
			`"overwritten":{"type":"boolean","description":"True for a file that was there."},"backup_created":{"type":"boolean","description":"True when the old content was kept."}`,
			`"success","bytes_written"`),
		Risk: tool.Dangerous, Permissions: []tool.Permission{tool.FileWrite}, Idempotent: true,
		Examples: []tool.Example{
			example("A new file.", `{"file_path":"new_file.txt","content":"Hello, world!"}`),
			example("Overwrite, and keep what was there.", `{"file_path":"config.toml","content":"[settings]\nkey = \"value\"","backup":true}`),
		},
	}}}
}

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

func decodeWrite(deps *Deps, call *tool.Call) (in writeInput, file string, err error) {
	if err = call.Decode(&in); err != nil {
		return in, "", err
	}
	file, err = deps.Workspace.Rel(in.Path)
	return in, file, writeError(err, in.Path)
}

// writeError is pathError for a file that need not be there.
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

func runWrite(_ context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	in, file, err := decodeWrite(deps, call)
	if err != nil {
		return nil, err
	}
	out := &outcome{files: []string{file}}
	r := writeResult{Success: true, Bytes: len(in.Content)}
	if in.Backup {
		if r.Backup, err = keepBackup(deps.Workspace, in.Path); err != nil {
			return nil, err
		}
		if r.Backup {
			out.files = append(out.files, file+backupSuffix)
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

// keepBackup writes the content that a file has beside it. It does nothing for
// a file that is not there. Its errors are in the contract's words.
func keepBackup(ws *workspace.Workspace, path string) (kept bool, err error) {
	if _, err := ws.Check(path, workspace.Write); err != nil {
		return false, writeError(err, path)
	}
	old, info, err := ws.ReadFile(path, 0)
	if tool.CodeOf(err) == tool.NotFound {
		return false, nil
	}
	if err != nil {
		return false, writeError(err, path)
	}
	backup := path + backupSuffix
	if _, err = ws.WriteFile(backup, old, workspace.WriteOptions{}); err == nil {
		err = ws.Chmod(backup, info.Mode().Perm())
	}
	if tool.CodeOf(err) == tool.IsDirectory {
		return false, tool.Errorf(tool.IsDirectory, "The backup cannot be written: %s is a directory", backup).
			Suggest("Call without backup, or keep the old content under another name first. Nothing was changed.").With("path", backup)
	}
	return err == nil, writeError(err, backup)
}

func planWrite(_ context.Context, deps *Deps, call *tool.Call) (*tool.Plan, error) {
	in, file, err := decodeWrite(deps, call)
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
