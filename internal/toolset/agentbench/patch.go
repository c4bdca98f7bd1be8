package agentbench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/file/textedit/patch"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// patchTries limits the attempts when another process changes a file meanwhile. patchPause
// limits each wait, which is random, so that one of several wins.
const (
	patchTries = 50
	patchPause = 20 * time.Millisecond
)

type patchInput struct {
	Diff string `json:"unified_diff"`
}

type patchData struct {
	ChangedFiles []string `json:"changed_files"`
	Size         int      `json:"patch_size_bytes"`
}

// patchEvent is the payload of PATCH_APPLIED.
type patchEvent struct {
	ChangedFiles []string `json:"changed_files"`
	Size         int      `json:"patch_size_bytes"`
	Artifact     *string  `json:"artifact"`
}

func runPatch(ctx context.Context, deps Deps, call *tool.Call, in patchInput) (*outcome, error) {
	changes, err := applyTo(ctx, deps, in.Diff)
	if err != nil {
		return nil, err
	}
	files := changedFiles(deps.Workspace, changes)
	out := &outcome{data: patchData{files, len(in.Diff)}, Outcome: kit.Outcome{Files: files}}
	event := patchEvent{files, len(in.Diff), nil}
	name := record.DiffName(call.Step)
	artifact, err := saveArtifact(deps.Workspace, call, "patch", name, []byte(in.Diff))
	if err != nil {
		call.Log(ctx, slog.LevelWarn, "the patch was applied but not kept", slog.String("artifact", name),
			slog.Any("error", err))
	}
	if artifact != nil {
		out.Artifacts, event.Artifact = []tool.Artifact{*artifact}, &name
	}
	if err := call.Emit(ctx, "PATCH_APPLIED", event); err != nil {
		call.Log(ctx, slog.LevelWarn, "an event was not recorded", slog.String("event", "PATCH_APPLIED"),
			slog.Any("error", err))
	}
	return out, nil
}

// changedFiles returns the files of a patch, relative to the workspace.
func changedFiles(ws *workspace.Workspace, changes []patch.FileChange) []string {
	files := []string{}
	for _, name := range patch.Paths(changes) {
		if rel, err := ws.Rel(name); err == nil {
			name = rel
		}
		files = append(files, name)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// applyTo changes the files. Concurrent calls run in turn, each on the outcome of the one before.
// If other processes change a file meanwhile, the patch is applied to the new content.
func applyTo(ctx context.Context, deps Deps, diff string) ([]patch.FileChange, error) {
	select {
	case deps.patching <- struct{}{}:
		defer func() { <-deps.patching }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ws := deps.Workspace
	for try := 1; ; try++ {
		changes, err := prepare(ctx, ws, diff)
		if err != nil {
			return nil, err
		}
		err = ws.Batch(ctx, fileedit.Batch(changes))
		if err == nil {
			removeEmptied(ws, changes)
			return changes, nil
		}
		switch code := tool.CodeOf(err); {
		case code == tool.AlreadyExists, code == tool.IsDirectory, code == tool.NotADirectory:
			return nil, as(typePatchHunk, err) // a directory in place of a file, or the reverse
		case code != tool.Conflict || try == patchTries || ctx.Err() != nil:
			return nil, err
		}
		time.Sleep(rand.N(patchPause))
	}
}

func prepare(ctx context.Context, ws *workspace.Workspace, diff string) ([]patch.FileChange, error) {
	set, err := patch.Parse([]byte(diff))
	if err != nil {
		return nil, as(typePatchParse, err)
	}
	reader := &patchReader{ctx: ctx, workspace: ws, marked: strings.Contains(diff, "\ufeff"), files: map[string]decoded{}}
	changes, err := patch.Apply(set, reader.read)
	if err == nil {
		return changes, reader.encode(changes)
	}
	switch code := tool.CodeOf(err); {
	case reader.err != nil:
		return nil, reader.err
	case code == tool.Conflict, code == tool.AlreadyExists:
		return nil, as(typePatchHunk, err)
	case code == tool.Unsupported && strings.Contains(diff, " mode 120000"):
		return nil, as(typeSymlink, err)
	case code == tool.Unsupported:
		return nil, as(typePatchParse, err)
	}
	return nil, err
}

type patchReader struct {
	ctx       context.Context // of the call
	workspace *workspace.Workspace
	marked    bool // the patch has a byte order mark
	files     map[string]decoded
	err       error // ended the reading
}

// decoded is a file that is not plain UTF-8: as it is, and as the patch sees it, which is the same for a binary one.
type decoded struct{ data, plain []byte }

// read is a patch.ReadFunc. A directory counts as missing: the patch may mean another file.
func (r *patchReader) read(name string) ([]byte, fs.FileMode, error) {
	data, info, err := r.workspace.ReadFile(name, 0)
	if err == nil {
		err = r.ctx.Err()
	}
	switch code := tool.CodeOf(err); {
	case err == nil:
		return r.decode(name, data), info.Mode(), nil
	case code == tool.NotFound, code == tool.NotADirectory:
	case code == tool.IsDirectory:
		err = fs.ErrNotExist
	case code == tool.InvalidArgument:
		r.err = as(typePatchParse, err) // no file can have this name
	default:
		r.err = err
	}
	return nil, 0, err
}

// decode returns a file as UTF-8 without a byte order mark, as patches are. It returns it as it is if the patch has the
// mark, if the file has no single encoding, or if it is binary.
func (r *patchReader) decode(name string, data []byte) []byte {
	text, err := textedit.Decode(data)
	if err != nil {
		r.files[name] = decoded{data, data}
		return data
	}
	plain := text.String()
	switch text.Encoding() {
	case textedit.UTF8:
		if r.marked || len(plain) == len(data) {
			return data
		}
	case textedit.Bytes:
		plain = lines.Shown([]byte(plain))
		if back, err := encoded(data, plain); r.marked || err != nil || !bytes.Equal(back, data) {
			return data
		}
	}
	r.files[name] = decoded{data, []byte(plain)}
	return []byte(plain)
}

// encoded returns the content that makes plain the text of a file with the content data.
func encoded(data []byte, plain string) ([]byte, error) {
	text, err := textedit.Decode(data)
	if err != nil {
		return nil, err
	}
	if plain, err = text.Form(plain); err != nil {
		return nil, err
	}
	text.SetString(plain)
	return text.Encode(), nil
}

// encode returns changed files to their encodings. It refuses to change a binary one.
func (r *patchReader) encode(changes []patch.FileChange) error {
	for i := range changes {
		c := &changes[i]
		source, ok := r.files[cmp.Or(c.From, c.Path)]
		switch {
		case !ok || c.Kind == patch.Delete:
		case bytes.Equal(c.Data, source.plain):
			c.Data = source.data
		default:
			data, err := encoded(source.data, string(c.Data))
			if err != nil {
				return unencoded(c.Path, err)
			}
			c.Data = data
		}
		old := c.Path
		if c.Kind == patch.Rename || c.Kind == patch.Copy {
			old = c.From
		}
		if file, ok := r.files[old]; ok {
			c.Old = file.data
		}
	}
	return nil
}

func unencoded(name string, err error) error {
	e := tool.AsError(err)
	err = tool.Errorf(e.Code, "%s: %s", name, e.Message).Suggest("%s Nothing was changed.", e.Suggestion).With("path", name)
	if e.Code == tool.Unsupported {
		err = as(typePatchHunk, err)
	}
	return err
}

// removeEmptied removes directories that the patch left empty, as git and patch do.
func removeEmptied(ws *workspace.Workspace, changes []patch.FileChange) {
	for _, c := range changes {
		gone := c.Path
		if c.Kind == patch.Rename {
			gone = c.From
		} else if c.Kind != patch.Delete {
			continue
		}
		for dir := path.Dir(gone); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if ws.RemoveDir(dir) != nil {
				break
			}
		}
	}
}

func planPatch(ctx context.Context, deps Deps, in patchInput) (*tool.Plan, error) {
	changes, err := prepare(ctx, deps.Workspace, in.Diff)
	if err != nil {
		return nil, err
	}
	plan := &tool.Plan{FilesAffected: changedFiles(deps.Workspace, changes)}
	for _, c := range changes {
		plan.Preview += preview(c)
	}
	return plan, nil
}

// preview shows a change as a diff, or in words if there is none.
func preview(c patch.FileChange) string {
	from, to := c.Path, c.Path
	switch c.Kind {
	case patch.Create:
		from = textedit.DevNull
	case patch.Delete:
		to = textedit.DevNull
	case patch.Rename, patch.Copy:
		from = c.From
	}
	if diff := textedit.Diff(from, to, c.Old, c.Data, 3); diff != "" {
		return diff
	}
	if from == to {
		return fmt.Sprintf("%s: new mode %o\n", c.Path, c.Mode)
	}
	return fmt.Sprintf("%s %s -> %s\n", c.Kind, from, to)
}
