package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/hands"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const maxFile = 64 << 20 // bytes

type patchInput struct {
	Input string `json:"input"`
}

type tree interface {
	write(name, text string) error
	remove(name string) error
	// update changes a file, and moves it if to is another place.
	update(name, to string, change func(old []byte) ([]byte, error)) error
}

// apply applies the hunks in order. Changes made before an error stay, and are listed.
func apply(t tree, hunks []hunk) (done []string, err error) {
	added, modified, deleted := []string{}, []string{}, []string{}
	for _, h := range hunks {
		switch h.header {
		case addFile:
			if err = t.write(h.path, h.text); err == nil {
				added = append(added, "A "+h.path)
			}
		case deleteFile:
			if err = t.remove(h.path); err == nil {
				deleted = append(deleted, "D "+h.path)
			} else {
				err = worded(err, "Failed to delete file "+h.path)
			}
		case updateFile:
			to := cmp.Or(h.move, h.path)
			if err = t.update(h.path, to, func(old []byte) ([]byte, error) {
				return changed(h.path, old, h.chunks)
			}); err == nil {
				modified = append(modified, "M "+to)
			}
		}
		if err != nil {
			break
		}
	}
	return slices.Concat(added, modified, deleted), err
}

func worded(err error, what string) error {
	e := tool.AsError(err)
	return tool.Errorf(e.Code, "%s: %s", what, e.Message).Suggest("%s", e.Suggestion)
}

func runPatch(ctx context.Context, deps hands.Deps, _ *tool.Call, in patchInput) (*hands.Outcome, error) {
	hunks, err := parsePatch(in.Input)
	if err != nil {
		return nil, err
	}
	if len(hunks) == 0 {
		return nil, tool.Errorf(tool.InvalidArgument, "No files were modified.")
	}
	t := &live{ctx: ctx, ws: deps.Workspace.WithContext(ctx)}
	done, err := apply(t, hunks)
	slices.Sort(t.files)
	out := &hands.Outcome{Outcome: kit.Outcome{Files: slices.Compact(t.files)}}
	list := strings.Join(done, "\n")
	if err == nil {
		out.Text = "Success. Updated the following files:\n" + list + "\n"
		return out, nil
	}
	if e := tool.AsError(err); list != "" {
		err = tool.Errorf(e.Code, "%s", e.Message).
			Suggest("%s Done before that, and kept: %s.", e.Suggestion, strings.Join(done, ", "))
	}
	return out, err
}

func planPatch(ctx context.Context, deps hands.Deps, in patchInput) (*tool.Plan, error) {
	hunks, err := parsePatch(in.Input)
	if err != nil {
		return nil, err
	}
	t := &draft{live: live{ws: deps.Workspace.WithContext(ctx)}, texts: make(map[string][]byte)}
	if _, err := apply(t, hunks); err != nil {
		return nil, err
	}
	return t.plan()
}

type live struct {
	ctx   context.Context // of the call
	ws    *workspace.Workspace
	files []string
}

func (t *live) write(name, text string) error {
	_, err := t.ws.WriteFile(name, []byte(text), workspace.WriteOptions{Parents: true})
	return t.took(name, err)
}

func (t *live) remove(name string) error { return t.took(name, t.ws.Remove(name)) }

func (t *live) update(name, to string, change func(old []byte) ([]byte, error)) error {
	old, info, err := t.ws.ReadFile(name, maxFile)
	if err != nil {
		return unread(name, err)
	}
	there, _ := t.ws.Stat(to)
	if name == to || t.same(name, to) && os.SameFile(info, there) {
		return t.took(name, t.ws.Update(name, func(old []byte, _ fs.FileInfo) ([]byte, error) { return change(old) }))
	}
	data, err := change(old)
	if err != nil {
		return err
	}
	changes := []workspace.Change{{Kind: workspace.Rename, Path: name, To: to, Data: data, Old: old}}
	if own, err := t.ws.Lstat(name); there != nil || err == nil && !own.Mode().IsRegular() {
		put := workspace.Change{Kind: workspace.Create, Path: to, Data: data, Mode: info.Mode().Perm()}
		if there != nil {
			put.Kind = workspace.Replace
		}
		changes = []workspace.Change{put, {Kind: workspace.Delete, Path: name, Old: old}}
	}
	return t.took(to, t.took(name, t.ws.Batch(t.ctx, changes)))
}

func unread(name string, err error) error { return worded(err, "Failed to read file to update "+name) }

// same reports whether two names lead to one place, perhaps in another case.
func (t *live) same(name, to string) bool {
	a, err := t.ws.Check(name, workspace.Write)
	b, failed := t.ws.Check(to, workspace.Write)
	return err == nil && failed == nil && strings.EqualFold(a, b)
}

func (t *live) took(name string, err error) error {
	if rel, failed := t.ws.Rel(name); err == nil && failed == nil {
		t.files = append(t.files, rel)
	}
	return err
}

// draft is the workspace after the patch: by real paths, nil for a deleted file.
type draft struct {
	live
	texts map[string][]byte
}

func (t *draft) put(name string, access workspace.Access, data []byte) error {
	real, err := t.ws.Check(name, access)
	if err == nil {
		t.texts[real] = data
	}
	return err
}

func (t *draft) read(name string) ([]byte, error) {
	if real, err := t.ws.Check(name, workspace.Read); err == nil {
		if data, ok := t.texts[real]; ok && data != nil {
			return data, nil
		} else if ok {
			return nil, tool.Errorf(tool.NotFound, "there is no file %s", name).Suggest("The patch has removed it before.")
		}
	}
	data, _, err := t.ws.ReadFile(name, maxFile)
	return data, err
}

func (t *draft) write(name, text string) error { return t.put(name, workspace.Write, []byte(text)) }

func (t *draft) remove(name string) error {
	if _, err := t.read(name); err != nil {
		return err
	}
	return t.put(name, workspace.Remove, nil)
}

func (t *draft) update(name, to string, change func(old []byte) ([]byte, error)) error {
	old, err := t.read(name)
	if err != nil {
		return unread(name, err)
	}
	data, err := change(old)
	if err == nil && name != to && !t.same(name, to) {
		err = t.put(name, workspace.Remove, nil)
	}
	if err != nil {
		return err
	}
	return t.put(to, workspace.Write, data)
}

func (t *draft) plan() (*tool.Plan, error) {
	var p tool.Plan
	for _, name := range slices.Sorted(maps.Keys(t.texts)) {
		text := t.texts[name]
		rel, err := t.ws.Rel(name)
		if err != nil {
			return nil, err
		}
		p.FilesAffected = append(p.FilesAffected, rel)
		oldName, newName := rel, rel
		old, _, err := t.ws.ReadFile(name, maxFile)
		if err != nil {
			oldName = textedit.DevNull
		}
		if text == nil {
			newName = textedit.DevNull
		}
		p.Preview += textedit.Diff(oldName, newName, old, text, 3)
	}
	slices.Sort(p.FilesAffected)
	return &p, nil
}

// operation is the Responses API's input of its own tool apply_patch.
type operation struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Diff string `json:"diff"`
}

func normalize(name string, params json.RawMessage) json.RawMessage {
	var call struct {
		operation
		Operation *operation `json:"operation"`
	}
	if name != "apply_patch" || json.Unmarshal(params, &call) != nil {
		return params
	}
	o := call.operation
	if call.Operation != nil {
		o = *call.Operation
	}
	header := map[string]string{"create_file": addFile, "update_file": updateFile, "delete_file": deleteFile}[o.Type]
	if header == "" || strings.ContainsAny(o.Path, "\r\n") {
		return params
	}
	patch := []string{beginPatch, header + o.Path}
	if o.Diff != "" && header != deleteFile {
		patch = append(patch, strings.TrimSuffix(o.Diff, "\n"))
	}
	return tool.MustMarshal(patchInput{strings.Join(append(patch, endPatch), "\n")})
}
