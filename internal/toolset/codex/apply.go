package codex

import (
	"context"
	"encoding/json"
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
	read(name string) (string, error)
	write(name, text string) error
	remove(name string) error
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
			var text string
			if text, err = t.read(h.path); err != nil {
				err = worded(err, "Failed to read file to update "+h.path)
				break
			}
			if text, err = changed(h.path, text, h.chunks); err != nil {
				break
			}
			to := h.path
			if h.move != "" {
				to = h.move
			}
			if err = t.write(to, text); err == nil && to != h.path {
				err = t.remove(h.path)
			}
			if err == nil {
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
	t := &live{ws: deps.Workspace.WithContext(ctx)}
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
	t := &draft{live: live{ws: deps.Workspace.WithContext(ctx)}, texts: make(map[string]*string)}
	if _, err := apply(t, hunks); err != nil {
		return nil, err
	}
	return t.plan()
}

type live struct {
	ws    *workspace.Workspace
	files []string
}

func (t *live) read(name string) (string, error) {
	data, _, err := t.ws.ReadFile(name, maxFile)
	return string(data), err
}

func (t *live) write(name, text string) error {
	_, err := t.ws.WriteFile(name, []byte(text), workspace.WriteOptions{Parents: true})
	return t.took(name, err)
}

func (t *live) remove(name string) error { return t.took(name, t.ws.Remove(name)) }

func (t *live) took(name string, err error) error {
	if rel, failed := t.ws.Rel(name); err == nil && failed == nil {
		t.files = append(t.files, rel)
	}
	return err
}

// draft is the workspace after the patch: nil is a deleted file.
type draft struct {
	live
	texts map[string]*string
}

func (t *draft) read(name string) (string, error) {
	if text, ok := t.texts[name]; ok && text != nil {
		return *text, nil
	} else if ok {
		return "", tool.Errorf(tool.NotFound, "there is no file %s", name).Suggest("The patch has removed it before.")
	}
	return t.live.read(name)
}

func (t *draft) write(name, text string) error {
	_, err := t.ws.Check(name, workspace.Write)
	t.texts[name] = &text
	return err
}

func (t *draft) remove(name string) error {
	if _, err := t.read(name); err != nil {
		return err
	}
	_, err := t.ws.Check(name, workspace.Write)
	t.texts[name] = nil
	return err
}

func (t *draft) plan() (*tool.Plan, error) {
	var p tool.Plan
	for name, text := range t.texts {
		rel, err := t.ws.Rel(name)
		if err != nil {
			return nil, err
		}
		p.FilesAffected = append(p.FilesAffected, rel)
		old, oldName, newName, then := "", rel, rel, ""
		if old, err = t.live.read(name); err != nil {
			oldName = textedit.DevNull
		}
		if text == nil {
			newName = textedit.DevNull
		} else {
			then = *text
		}
		p.Preview += textedit.Diff(oldName, newName, []byte(old), []byte(then), 3)
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
