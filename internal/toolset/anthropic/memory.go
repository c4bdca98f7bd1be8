package anthropic

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/hands"
)

const memories = "/memories"

// place returns a path relative to the directory of memories.
func place(name string) (string, error) {
	clean := path.Clean(name)
	if clean != memories && !strings.HasPrefix(clean, memories+"/") || !strings.HasPrefix(name, memories) {
		if strings.HasPrefix(name, memories) {
			return "", tool.Errorf(tool.PathOutsideWorkspace, "Path %s would escape /memories directory", name)
		}
		return "", tool.Errorf(tool.PathOutsideWorkspace, "Path must start with /memories, got: %s", name)
	}
	return "." + strings.TrimPrefix(clean, memories), nil
}

func runMemory(ctx context.Context, deps hands.Deps, _ *tool.Call, in input) (*hands.Outcome, error) {
	if err := in.check(false); err != nil {
		return nil, err
	}
	ws, err := deps.Memories()
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	ws = ws.WithContext(ctx)
	if in.Command == "rename" {
		return in.rename(ws)
	}
	at, err := place(in.Path)
	if err != nil {
		return nil, err
	}
	switch in.Command {
	case "view":
		return in.recall(ctx, ws, at)
	case "create":
		_, err := ws.WriteFile(at, []byte(*in.FileText), workspace.WriteOptions{Parents: true, Exclusive: true})
		if tool.CodeOf(err) == tool.AlreadyExists {
			return nil, tool.Errorf(tool.AlreadyExists, "File %s already exists", in.Path)
		}
		return hands.Say("File created successfully at: " + in.Path), err
	case "str_replace", "insert":
		return in.rewrite(ctx, ws, at)
	case "delete":
		if at == "." {
			return nil, tool.Errorf(tool.InvalidArgument, "Cannot delete the /memories directory itself")
		}
		if err := removeAll(ws, at); tool.CodeOf(err) == tool.NotFound {
			return nil, tool.Errorf(tool.NotFound, "The path %s does not exist", in.Path)
		} else if err != nil {
			return nil, err
		}
		return hands.Say("Successfully deleted " + in.Path), nil
	}
	return nil, tool.Errorf(tool.InvalidArgument, "Unknown command: %s", in.Command).
		Suggest("The commands are view, create, str_replace, insert, delete and rename.")
}

func (in input) rename(ws *workspace.Workspace) (*hands.Outcome, error) {
	from, err := place(in.OldPath)
	if err != nil {
		return nil, err
	}
	to, err := place(in.NewPath)
	if err != nil {
		return nil, err
	}
	if _, err := ws.Lstat(to); err == nil {
		return nil, tool.Errorf(tool.AlreadyExists, "The destination %s already exists", in.NewPath)
	}
	if _, err := ws.Lstat(from); err != nil {
		return nil, tool.Errorf(tool.NotFound, "The path %s does not exist", in.OldPath)
	}
	if dir := path.Dir(to); dir != "." {
		if _, err := ws.Mkdir(dir, true); err != nil && tool.CodeOf(err) != tool.AlreadyExists {
			return nil, err
		}
	}
	if err := ws.Rename(from, to, false); err != nil {
		return nil, err
	}
	return hands.Say(fmt.Sprintf("Successfully renamed %s to %s", in.OldPath, in.NewPath)), nil
}

func (in input) missing() error {
	return tool.Errorf(tool.NotFound, "The path %s does not exist. Please provide a valid path.", in.Path)
}

func (in input) recall(ctx context.Context, ws *workspace.Workspace, at string) (*hands.Outcome, error) {
	info, err := ws.Stat(at)
	if err != nil {
		return nil, in.missing()
	}
	if info.IsDir() {
		margin := func(_ string, info fs.FileInfo) string { return humanSize(info.Size()) + "\t" }
		list, err := levels(ctx, ws, at, in.Path, margin)
		if err != nil {
			return nil, err
		}
		head := "Here're the files and directories up to 2 levels deep in " + in.Path + ", excluding hidden items:"
		return hands.Say(strings.Join(append([]string{head, humanSize(info.Size()) + "\t" + in.Path}, list...), "\n")), nil
	}
	data, _, err := ws.ReadFile(at, maxView)
	if err != nil {
		return nil, err
	}
	lines, first := strings.Split(string(data), "\n"), 1
	if len(in.Range) == 2 {
		last := in.Range[1]
		if last == -1 {
			last = len(lines)
		}
		first = max(1, in.Range[0])
		lines = lines[min(first-1, len(lines)):max(min(first-1, len(lines)), min(last, len(lines)))]
	}
	return hands.Say("Here's the content of " + in.Path + " with line numbers:\n" + numbered(lines, first, "%6d\t%s")), nil
}

func (in input) rewrite(ctx context.Context, ws *workspace.Workspace, at string) (*hands.Outcome, error) {
	info, err := ws.Stat(at)
	if err != nil {
		return nil, in.missing()
	}
	if !info.Mode().IsRegular() {
		return nil, tool.Errorf(tool.IsDirectory, "The path %s is not a file.", in.Path)
	}
	var then string
	var changed []int
	_, err = hands.Change(ctx, ws, at, func(text *textedit.Text) (err error) {
		if in.Command == "insert" {
			return in.insert(text, strings.TrimRight(*in.InsertText, "\n"))
		}
		missing := tool.Errorf(tool.NoMatch, "No replacement was performed, old_str `%s` did not appear verbatim in %s.",
			*in.OldStr, in.Path)
		changed, err = hands.Replace(text, *in.OldStr, *in.NewStr, false, missing, func(lines []int) error {
			return tool.Errorf(tool.NotUnique, "No replacement was performed. Multiple occurrences of old_str `%s` in "+
				"lines: %s. Please ensure it is unique", *in.OldStr, listed(lines))
		})
		then = text.String()
		return err
	})
	if err != nil {
		return nil, err
	}
	if in.Command == "insert" {
		return hands.Say("The file " + in.Path + " has been edited."), nil
	}
	lines := strings.Split(then, "\n")
	first, last := max(0, changed[0]-3), min(len(lines), changed[0]+2)
	return hands.Say("The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" +
		numbered(lines[first:last], first+1, "%6d\t%s")), nil
}

func removeAll(ws *workspace.Workspace, name string) error {
	info, err := ws.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return ws.Remove(name)
	}
	entries, err := ws.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := removeAll(ws, name+"/"+e.Name()); err != nil {
			return err
		}
	}
	return ws.RemoveDir(name)
}

// humanSize formats a number of bytes as the tool does: 0B, 1.5K, 2M.
func humanSize(size int64) string {
	value, unit := float64(size), 0
	for value >= 1024 && unit < 3 {
		value, unit = value/1024, unit+1
	}
	text := strconv.FormatFloat(value, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0") + "BKMG"[unit:unit+1]
}

func listed(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ", ")
}
