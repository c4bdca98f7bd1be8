package replay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/effects"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/trajectory"
)

// A recording in a file: a line of JSON about the session and what the workspace
// was, then one for each call. It has all that a replay on another checkout
// needs, and no content of files but those that answers from the record brought.

// fileVersion is the version of the form of these files.
const fileVersion = 1

// mostRead is the size in bytes of the largest file that is read.
const mostRead = 512 << 20

// mostBrought is the size in bytes of the largest file that is brought.
const mostBrought = 4 << 20

// webCache is where fetched pages lie.
const webCache = ".agent/cache/webfetch/"

type fileHeader struct {
	Version int         `json:"toolhost_session"`
	Session string      `json:"session"`
	Root    string      `json:"workspace"`
	Umask   fs.FileMode `json:"umask"`
	Doubts  []string    `json:"doubts,omitempty"`
	Start   []fileItem  `json:"start"`
}

// fileItem is what lay at a path when the session began.
type fileItem struct {
	Path   undo.PathName `json:"path"`
	Digest string        `json:"digest"`
	Mode   fs.FileMode   `json:"mode,omitempty"`
}

type fileCall struct {
	Call    *trajectory.Call `json:"call"`
	Left    []undo.Left      `json:"left,omitempty"`
	Brought []brought        `json:"brought,omitempty"`
}

// brought is a file that the answer of a call names, or that another server made.
type brought struct {
	Path    undo.PathName `json:"path"`
	Content []byte        `json:"content"`
}

// bring reads what calls that are not run again have left.
func (r *Recording) bring(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, c := range r.Calls {
		digests := make(map[string]string)
		for _, l := range r.left[c.ID] {
			digests[string(l.Path)] = l.Digest
		}
		for _, name := range c.Files {
			if filepath.IsAbs(name) || !fromServer(c.Source) && !strings.HasPrefix(name, webCache) {
				continue
			}
			digest, known := digests[name]
			if known && digest == "" {
				continue // it went
			}
			content, err := readUpTo(root, name)
			sum := undo.Digest(false, false, workspace.Hash(content))
			if err != nil || known && digest != sum {
				r.Doubts = append(r.Doubts, "what "+c.ID+" left in "+name+" is no longer there, and is not brought")
				continue
			}
			r.brought[c.ID] = append(r.brought[c.ID], brought{undo.PathName(name), content})
		}
	}
	return nil
}

// readUpTo reads a file that is not too large to bring.
func readUpTo(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostBrought {
		return nil, fs.ErrInvalid
	}
	return root.ReadFile(name)
}

// put writes what an answer from the record brought.
func put(stage *Stage, files []brought) error {
	for _, f := range files {
		name := string(f.Path)
		page := strings.HasPrefix(slashpath.Clean(name), webCache)
		if !page && (!stage.Approve || !compared(slashpath.Clean(name))) {
			continue
		}
		_, err := stage.Workspace.WriteFile(name, f.Content, workspace.WriteOptions{Parents: true})
		if err != nil && tool.CodeOf(err) != tool.PermissionDenied { // no server writes what is protected
			return err
		}
	}
	return nil
}

// Write writes a recording for other checkouts. dir is a copy of the workspace as
// it was when the session began.
func (r *Recording) Write(ctx context.Context, w io.Writer, dir string) error {
	start, err := (&scanner{root: dir}).scan(ctx)
	if err != nil {
		return err
	}
	umask, err := umaskOf()
	if err != nil {
		return err
	}
	header := fileHeader{Version: fileVersion, Session: r.Session, Root: r.Root, Umask: umask, Doubts: r.Doubts,
		Start: []fileItem{}}
	for _, name := range start.names() {
		header.Start = append(header.Start, fileItem{undo.PathName(name), start[name].digest, start[name].mode})
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(header); err != nil {
		return err
	}
	for _, c := range r.Calls {
		if err := encoder.Encode(fileCall{c, r.left[c.ID], r.brought[c.ID]}); err != nil {
			return err
		}
	}
	return nil
}

// ReadFile reads a recording that Write has written. name is that of the file.
func ReadFile(in io.Reader, name string) (*Recording, error) { return readUpToSize(in, name, mostRead) }

func readUpToSize(in io.Reader, name string, most int64) (*Recording, error) {
	limited := &io.LimitedReader{R: in, N: most + 1}
	r, err := readFile(json.NewDecoder(bufio.NewReader(limited)), name)
	if limited.N == 0 {
		return nil, tool.Errorf(tool.TooLarge, "%s has more than %d bytes, which no recorded session has", name, most).
			Suggest("Ask who sent it for a shorter session.")
	}
	return r, err
}

func readFile(decoder *json.Decoder, name string) (*Recording, error) {
	var header fileHeader
	if err := decoder.Decode(&header); err != nil || header.Version == 0 {
		return nil, notAFile(name, "it does not begin as one")
	}
	if header.Version != fileVersion {
		return nil, tool.Errorf(tool.Unsupported, "%s has version %d of the form of recorded sessions, not %d", name,
			header.Version,
			fileVersion).Suggest("Write it again with this version of toolhost, or read it with a newer one.")
	}
	r := &Recording{Session: header.Session, Root: header.Root, umask: header.Umask.Perm(), Doubts: header.Doubts,
		start: tree{}, left: make(map[string][]undo.Left), brought: make(map[string][]brought)}
	for _, i := range header.Start {
		r.start[string(i.Path)] = item{i.Digest, i.Mode.Perm()}
	}
	for {
		var line fileCall
		err := decoder.Decode(&line)
		switch {
		case errors.Is(err, io.EOF) && len(r.Calls) > 0:
			return r, nil
		case errors.Is(err, io.EOF):
			return nil, notAFile(name, "it has no call")
		case err != nil:
			return nil, notAFile(name, err.Error())
		case line.Call == nil || line.Call.ID == "":
			return nil, notAFile(name, "a line has no call")
		}
		r.Calls = append(r.Calls, line.Call)
		r.left[line.Call.ID], r.brought[line.Call.ID] = line.Left, line.Brought
	}
}

func notAFile(name, why string) error {
	return tool.Errorf(tool.InvalidArgument, "%s is not a recorded session: %s", name, why).
		Suggest("`toolhost export SESSION --format replay` writes one.")
}

// CheckStart refuses a copy of a checkout that is not what the workspace was when
// the session began. ignore are the patterns of what is not kept, besides what is
// not by default.
func (r *Recording) CheckStart(ctx context.Context, dir string, ignore []string) error {
	is, err := (&scanner{root: dir}).scan(ctx)
	if err != nil {
		return err
	}
	umask, err := umaskOf()
	if err != nil {
		return err
	}
	paths := r.start.adopt(is, r.start.differs(is, umask|r.umask|writeOfOthers), effects.Ignored(dir, ignore))
	if len(paths) > 0 {
		return tool.Errorf(tool.Conflict, "this workspace is not what it was when session %s began: it differs in %s",
			r.Session, strings.Join(firstFew(r.start.named(paths, is)), ", ")).
			Suggest("Check out the same commit with the same files, or use --force to replay on what is here.")
	}
	return nil
}
