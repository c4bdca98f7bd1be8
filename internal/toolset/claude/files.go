package claude

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
	"github.com/toolhost/toolhost/internal/toolset/hands"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// Limits of Claude Code, in lines, bytes and paths.
const (
	maxLines    = 2000
	maxLine     = 2000
	maxRead     = 256 << 10
	maxPaths    = 100
	defaultHead = 250
)

type readInput struct {
	Path   string `json:"file_path"`
	Offset number `json:"offset"`
	Limit  number `json:"limit"`
	Pages  string `json:"pages"`
}

func runRead(ctx context.Context, deps hands.Deps, _ *tool.Call, in readInput) (*hands.Outcome, error) {
	if image, err := hands.Image(deps.Workspace, in.Path); err != nil || image != nil {
		return image, missing(in.Path, err)
	}
	switch ending := strings.ToLower(filepath.Ext(in.Path)); {
	case ending == ".pdf" || in.Pages != "":
		return nil, tool.Errorf(tool.Unsupported, "PDF files cannot be read here").
			Suggest("Turn it into text with a program, such as pdftotext, by Bash.")
	case ending == ".ipynb":
		return readNotebook(deps, in.Path)
	}
	f, err := deps.Workspace.Open(in.Path)
	if err != nil {
		return nil, missing(in.Path, err)
	}
	defer f.Close()
	head, whole, err := lines.Open(f)
	if err != nil {
		return nil, missing(in.Path, err)
	}
	if _, err := textedit.Decode(head); err != nil {
		return nil, tool.Errorf(tool.BinaryFile, "This tool cannot read binary files. The file appears to be a binary file.").
			Suggest("With Bash, file and xxd tell what it is.").With("path", in.Path)
	}
	first, limit := max(1, int(in.Offset)), maxLines
	if in.Limit > 0 {
		limit = int(in.Limit)
	}
	var text strings.Builder
	total, shown := 0, 0
	err = lines.While(ctx, whole, maxLine+len("\r\n"), func(l lines.Line) bool {
		if total = l.Number; total < first || shown >= limit || text.Len() > maxRead {
			return true
		}
		shown++
		fmt.Fprintf(&text, "%6d→%s\n", l.Number, l.Shown(maxLine))
		return shown != int(in.Limit) // nobody asks what follows
	})
	if err != nil {
		return nil, err
	}
	switch {
	case total == 0:
		return hands.Say("Warning: the file exists but the contents are empty."), nil
	case shown == 0:
		return hands.Say(fmt.Sprintf("Warning: the file exists but is shorter than the provided offset (%d). "+
			"The file has %d lines.", first, total)), nil
	}
	out := hands.Say(strings.TrimSuffix(text.String(), "\n"))
	if next := first + shown; next <= total {
		out.Text += fmt.Sprintf("\n[%d more lines follow; read on with offset %d]", total-next+1, next)
		out.Truncated = true
	}
	return out, nil
}

func missing(name string, err error) error {
	if tool.CodeOf(err) == tool.NotFound {
		return tool.Errorf(tool.NotFound, "File does not exist.").Suggest("There is no %s.", name).With("path", name)
	}
	return err
}

type writeInput struct {
	Path    string `json:"file_path"`
	Content string `json:"content"`
}

func runWrite(ctx context.Context, deps hands.Deps, _ *tool.Call, in writeInput) (*hands.Outcome, error) {
	o, created, err := hands.Write(ctx, deps.Workspace, in.Path, in.Content)
	if err != nil {
		return nil, err
	}
	if o.Text = "The file " + in.Path + " has been updated successfully."; created {
		o.Text = "File created successfully at: " + in.Path
	}
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

func (in editInput) creates(deps hands.Deps) bool {
	info, err := deps.Workspace.Stat(in.Path)
	return in.Old == "" && (tool.CodeOf(err) == tool.NotFound || err == nil && info.Size() == 0)
}

func runEdit(ctx context.Context, deps hands.Deps, call *tool.Call, in editInput) (*hands.Outcome, error) {
	if in.creates(deps) {
		return runWrite(ctx, deps, call, writeInput{in.Path, in.New})
	}
	o, err := hands.Change(ctx, deps.Workspace, in.Path, in.change)
	if err != nil {
		return nil, missing(in.Path, err)
	}
	if o.Text = "The file " + in.Path + " has been updated successfully."; in.All {
		o.Text = fmt.Sprintf("The file %s has been updated. All occurrences of '%s' were successfully replaced with '%s'.",
			in.Path, in.Old, in.New)
	}
	return o, nil
}

func (in editInput) change(text *textedit.Text) error {
	if in.Old == in.New {
		return tool.Errorf(tool.NoChange, "No changes to make: old_string and new_string are exactly the same.")
	}
	if in.Old == "" {
		return tool.Errorf(tool.AlreadyExists, "Cannot create new file - file already exists.")
	}
	missing := tool.Errorf(tool.NoMatch, "String to replace not found in file.\nString: %s", in.Old)
	_, err := hands.Replace(text, in.Old, in.New, in.All, missing, func(lines []int) error {
		return tool.Errorf(tool.NotUnique, "Found %d matches of the string to replace, but replace_all is false. To "+
			"replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to "+
			"uniquely identify the instance.\nString: %s", len(lines), in.Old)
	})
	return err
}

func planEdit(ctx context.Context, deps hands.Deps, in editInput) (*tool.Plan, error) {
	if in.creates(deps) {
		return hands.PlanWrite(ctx, deps.Workspace, in.Path, in.New)
	}
	return hands.PlanChange(ctx, deps.Workspace, in.Path, in.change)
}

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func runGlob(ctx context.Context, deps hands.Deps, _ *tool.Call, in globInput) (*hands.Outcome, error) {
	found, err := hands.Glob(ctx, deps.Workspace, in.Pattern, in.Path, true)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return hands.Say("No files found"), nil
	}
	shown := found[:min(len(found), maxPaths)]
	out := hands.Say(strings.Join(shown, "\n"))
	if len(shown) < len(found) {
		out.Text += "\n(Results are truncated. Consider using a more specific path or pattern.)"
		out.Truncated = true
	}
	return out, nil
}

type grepInput struct {
	Pattern    string  `json:"pattern"`
	Path       string  `json:"path"`
	Glob       string  `json:"glob"`
	Mode       string  `json:"output_mode"`
	Before     number  `json:"-B"`
	After      number  `json:"-A"`
	Around     number  `json:"-C"`
	Context    number  `json:"context"`
	Numbers    *bool   `json:"-n"`
	IgnoreCase bool    `json:"-i"`
	OnlyMatch  bool    `json:"-o"`
	Type       string  `json:"type"`
	Head       *number `json:"head_limit"`
	Offset     number  `json:"offset"`
	Multiline  bool    `json:"multiline"`
}

func (in grepInput) query() search.Query {
	around := max(int(in.Around), int(in.Context))
	q := search.Query{
		Pattern: in.Pattern, Dir: in.Path, IgnoreCase: in.IgnoreCase, Hidden: true, SkipDirs: kit.OwnDirs(),
		Max: defaultHead, Offset: int(in.Offset), MaxBytes: 4 * maxOutput, MaxLine: maxLine,
	}
	if in.Head != nil {
		q.Max = int(*in.Head)
	}
	if in.Glob != "" {
		q.Globs = strings.Fields(in.Glob)
	}
	if in.Type != "" {
		q.Types = []string{in.Type}
	}
	switch in.Mode {
	case "content":
		q.Before, q.After = max(int(in.Before), around), max(int(in.After), around)
	case "count":
		q.Mode = search.Counts
	default:
		q.Mode = search.Files
	}
	return q
}

func runGrep(ctx context.Context, deps hands.Deps, _ *tool.Call, in grepInput) (*hands.Outcome, error) {
	if in.Multiline || in.OnlyMatch {
		return nil, tool.Errorf(tool.Unsupported, "Grep does not support multiline or -o here").
			Suggest("Search line by line, or run rg -U or rg -o with Bash.")
	}
	in.Offset = max(in.Offset, 0)
	found, err := search.New(deps.Workspace).Grep(ctx, in.query())
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	var b strings.Builder
	switch in.Mode {
	case "content":
		in.lines(&b, found)
	case "count":
		sum := 0
		for _, f := range found.Files {
			fmt.Fprintf(&b, "%s:%d\n", f.Path, f.Lines)
			sum += f.Lines
		}
		fmt.Fprintf(&b, "\nFound %d total occurrences across %d files.", sum, len(found.Files))
	default:
		if len(found.Files) == 0 {
			return hands.Say("No files found"), nil
		}
		fmt.Fprintf(&b, "Found %d files", len(found.Files))
		for _, f := range found.Files {
			b.WriteString("\n" + f.Path)
		}
	}
	out := hands.Say(strings.TrimSuffix(b.String(), "\n"))
	if out.Text == "" {
		return hands.Say("No matches found"), nil
	}
	if found.Truncated {
		all, shown := found.FilesMatched, len(found.Files)
		if in.Mode == "content" {
			all, shown = found.Total, len(found.Lines)
		}
		next := int(in.Offset) + shown
		out.Text += fmt.Sprintf("\n\n[Showing results with pagination = limit: %d, offset: %d]\n[%d more results follow; "+
			"continue with offset %d]", shown, in.Offset, all-next, next)
		out.Truncated = true
	}
	return out, nil
}

func (in grepInput) lines(b *strings.Builder, found *search.Matches) {
	numbered := in.Numbers == nil || *in.Numbers
	write := func(m search.Match, number int, sign, text string) {
		b.WriteString(m.Path + sign)
		if numbered {
			fmt.Fprintf(b, "%d%s", number, sign)
		}
		b.WriteString(text + "\n")
	}
	for i, m := range found.Lines {
		if i > 0 && in.query().Before+in.query().After > 0 {
			b.WriteString("--\n")
		}
		for j, line := range m.Before {
			write(m, m.Line-len(m.Before)+j, "-", line)
		}
		write(m, m.Line, ":", m.Text)
		for j, line := range m.After {
			write(m, m.Line+1+j, "-", line)
		}
	}
}
