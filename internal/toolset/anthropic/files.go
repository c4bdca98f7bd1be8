package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/hands"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// Limits of the agent toolset, in bytes and paths.
const (
	maxFile  = 256 << 10
	maxPaths = 200
)

type readInput struct {
	Path  string `json:"file_path"`
	Range []int  `json:"view_range"`
}

func runRead(ctx context.Context, deps hands.Deps, _ *tool.Call, in readInput) (*hands.Outcome, error) {
	if in.Path == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "read: file_path is required")
	}
	if len(in.Range) != 0 && len(in.Range) != 2 {
		return nil, tool.Errorf(tool.InvalidArgument, "read: view_range must be [start_line, end_line]")
	}
	info, err := deps.Workspace.Stat(in.Path)
	switch {
	case err != nil:
		return nil, fileError("read", in.Path, err)
	case !info.Mode().IsRegular():
		return nil, tool.Errorf(tool.Unsupported, "read: %s is not a regular file", in.Path)
	case len(in.Range) == 0 && info.Size() > maxFile:
		return nil, tool.Errorf(tool.TooLarge, "read: %s is %d bytes, exceeds %d-byte limit. Use the view_range parameter "+
			"to read specific line ranges, e.g. view_range: [1, 500].", in.Path, info.Size(), maxFile)
	case len(in.Range) == 0:
		in.Range = []int{1, 0}
	}
	return in.part(ctx, deps)
}

// part reads the requested lines of a file of any size.
func (in readInput) part(ctx context.Context, deps hands.Deps) (*hands.Outcome, error) {
	first, last := max(1, in.Range[0]), in.Range[1]
	f, err := deps.Workspace.Open(in.Path)
	if err != nil {
		return nil, fileError("read", in.Path, err)
	}
	defer f.Close()
	_, whole, err := lines.Open(f)
	if err != nil {
		return nil, fileError("read", in.Path, err)
	}
	var text strings.Builder
	long := false
	err = lines.While(ctx, whole, maxFile+1, func(l lines.Line) bool {
		if l.Number < first || last > 0 && l.Number > last {
			return l.Number < first
		}
		if long = text.Len()+l.Size > maxFile+1; long {
			return false
		}
		text.WriteString(lines.Shown(l.Content()))
		text.WriteString("\r\n"[2-l.Ending:])
		return l.Number != last
	})
	switch {
	case err != nil:
		return nil, fileError("read", in.Path, err)
	case long && first == last:
		return nil, tool.Errorf(tool.TooLarge, "read: line %d of %s alone exceeds %d-byte limit. The read tool cannot "+
			"return part of a line, so view_range cannot narrow this further.", first, in.Path, maxFile)
	case long:
		return nil, tool.Errorf(tool.TooLarge, "read: view_range [%d, %d] of %s exceeds %d-byte limit. Narrow the "+
			"view_range to read a smaller portion.", in.Range[0], in.Range[1], in.Path, maxFile)
	case last > 0:
		return hands.Say(strings.TrimSuffix(text.String(), "\n")), nil
	}
	return hands.Say(text.String()), nil
}

type writeInput struct {
	Path    string `json:"file_path"`
	Content string `json:"content"`
}

func runWrite(ctx context.Context, deps hands.Deps, _ *tool.Call, in writeInput) (*hands.Outcome, error) {
	if in.Path == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "write: file_path is required")
	}
	o, _, err := hands.Write(ctx, deps.Workspace, in.Path, in.Content)
	if err != nil {
		return nil, fileError("write", in.Path, err)
	}
	o.Text = fmt.Sprintf("wrote %d bytes to %s", len(in.Content), in.Path)
	return o, nil
}

func planWrite(ctx context.Context, deps hands.Deps, in writeInput) (*tool.Plan, error) {
	return hands.PlanWrite(ctx, deps.Workspace, in.Path, in.Content)
}

type editInput struct {
	Path string `json:"file_path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all"`
}

func runEdit(ctx context.Context, deps hands.Deps, _ *tool.Call, in editInput) (*hands.Outcome, error) {
	if in.Path == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "edit: file_path is required")
	}
	if in.Old == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "edit: old_string is required")
	}
	info, err := deps.Workspace.Stat(in.Path)
	switch {
	case err != nil:
		return nil, fileError("edit", in.Path, err)
	case !info.Mode().IsRegular():
		return nil, tool.Errorf(tool.Unsupported, "edit: %s is not a regular file", in.Path)
	case info.Size() > maxFile:
		return nil, tool.Errorf(tool.TooLarge, "edit: %s is %d bytes, exceeds %d-byte limit. The edit tool loads the whole "+
			"file and cannot modify a file this large.", in.Path, info.Size(), maxFile)
	}
	count := 0
	o, err := hands.Change(ctx, deps.Workspace, in.Path, in.change(&count))
	if err != nil {
		if tool.AsError(err).Details["count"] != nil {
			return nil, err
		}
		return nil, fileError("edit", in.Path, err)
	}
	o.Text = fmt.Sprintf("edited %s (%d replacement(s))", in.Path, count)
	return o, nil
}

func (in editInput) change(count *int) func(*textedit.Text) error {
	return func(text *textedit.Text) error {
		missing := tool.Errorf(tool.NoMatch, "edit: old_string not found in %s", in.Path).With("count", 0)
		lines, err := hands.Replace(text, in.Old, in.New, in.All, missing, func(lines []int) error {
			return tool.Errorf(tool.NotUnique, "edit: old_string appears %d times in %s (must be unique)", len(lines), in.Path).
				With("count", len(lines))
		})
		*count = len(lines)
		return err
	}
}

func planEdit(ctx context.Context, deps hands.Deps, in editInput) (*tool.Plan, error) {
	return hands.PlanChange(ctx, deps.Workspace, in.Path, in.change(new(int)))
}

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func runGlob(ctx context.Context, deps hands.Deps, _ *tool.Call, in globInput) (*hands.Outcome, error) {
	switch {
	case in.Pattern == "":
		return nil, tool.Errorf(tool.InvalidArgument, "glob: pattern is required")
	case filepath.IsAbs(in.Pattern):
		return nil, tool.Errorf(tool.InvalidArgument,
			"glob: absolute pattern not permitted; pass a relative pattern (and optionally path)")
	case slices.Contains(strings.Split(filepath.ToSlash(in.Pattern), "/"), ".."):
		return nil, tool.Errorf(tool.InvalidArgument, "glob: pattern %q must not contain a \"..\" segment", in.Pattern)
	}
	found, err := hands.Glob(ctx, deps.Workspace, in.Pattern, in.Path, false)
	if err != nil {
		return nil, fileError("glob", cmp.Or(in.Path, "."), err)
	}
	if len(found) == 0 {
		return hands.Say("no matches"), nil
	}
	shown := found[:min(len(found), maxPaths)]
	out := hands.Say(strings.Join(shown, "\n"))
	if left := len(found) - len(shown); left > 0 {
		out.Text += fmt.Sprintf("\n[%d more paths match; name them by a narrower pattern or path]", left)
		out.Truncated = true
	}
	return out, nil
}

func runGrep(ctx context.Context, deps hands.Deps, _ *tool.Call, in globInput) (*hands.Outcome, error) {
	if in.Pattern == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "grep: pattern is required")
	}
	found, err := search.New(deps.Workspace).Grep(ctx, search.Query{
		Pattern: in.Pattern, Dir: in.Path, MaxBytes: 2 * outputLimit, SkipDirs: kit.OwnDirs(),
	})
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, fileError("grep", cmp.Or(in.Path, "."), err)
	}
	if len(found.Lines) == 0 {
		return hands.Say("no matches"), nil
	}
	var b strings.Builder
	for _, m := range found.Lines {
		name := m.Path
		if !filepath.IsAbs(name) {
			name = filepath.Join(deps.Workspace.Root(), name)
		}
		fmt.Fprintf(&b, "%s:%d:%s\n", name, m.Line, m.Text)
	}
	out := hands.Say(b.String())
	if len(out.Text) > outputLimit || found.Truncated {
		out.Text, out.Truncated = truncate.Head(out.Text, outputLimit)+"\n"+truncatedNotice, true
	}
	return out, nil
}
