package workspace

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/inplace"
	"github.com/toolhost/toolhost/internal/file/rights"
)

const (
	// newMode is the mode of new files, less the umask; newDirMode that of new directories.
	newMode    fs.FileMode = 0o666
	newDirMode fs.FileMode = 0o777
	// appendInPlace is the size in bytes from which a file is appended to in place instead of copied.
	appendInPlace = 16 << 20
)

// WriteOptions configure WriteFile and Append.
type WriteOptions struct {
	// Parents creates missing parent directories.
	Parents bool
	// Exclusive refuses an existing file, as already_exists.
	Exclusive bool
	// Mode is the mode of a new file, permission bits only, less the umask. Zero means 0666. An existing file keeps
	// its own.
	Mode fs.FileMode
	// Like is the path of a file whose owner, mode, access control list and attributes this one gets, even if it
	// exists. If it cannot have the owner, it is private to the user.
	Like string
}

// WriteFile makes data the content of the file at path, created or replaced atomically: a reader, or a kill at any
// moment, finds the old or the new content, whole. A replaced file keeps its owner, mode, access control list and
// extended attributes; a symlink stays, its target is replaced; other hard links keep the old content.
//
// A file that cannot be replaced is written in place: a mount, one in a directory that is not writable, one whose
// owner a new file cannot have. A reader or a kill may then find it half written. It is refused if it is larger
// than DefaultReadLimit or has other hard links.
//
// Errors: not_found for a missing directory, already_exists with Exclusive, is_directory, unsupported for a pipe,
// socket or device, permission_denied for a protected or read-only file, path_outside_workspace, timeout while
// other writers hold the directory's lock, unavailable for a full disk. After an error nothing has changed.
func (w *Workspace) WriteFile(path string, data []byte, opts WriteOptions) (created bool, err error) {
	return w.writing(path, opts, func(h *held) error { return h.writeContent(bytes.NewReader(data), opts) })
}

// writing calls write with the locked place of a writable file. If that fails, it removes the directories it
// created.
func (w *Workspace) writing(path string, opts WriteOptions, write func(*held) error) (created bool, err error) {
	var made []string
	if opts.Parents {
		made, err = w.parentsOf(path)
	}
	if err == nil {
		created, err = w.writeHeld(path, opts, write)
	}
	if err != nil {
		w.removeDirs(made)
		return false, w.fail("write", path, err)
	}
	return created, nil
}

func (w *Workspace) writeHeld(path string, opts WriteOptions, write func(*held) error) (created bool, err error) {
	h, err := w.hold(path, Write)
	if err != nil {
		return false, err
	}
	defer h.close()
	if err := h.writable(opts.Exclusive); err != nil {
		return false, err
	}
	return h.missing(), write(h)
}

func (p *resolvedPath) writable(exclusive bool) error {
	switch {
	case len(p.rest) > 0:
		return missingParent(p)
	case p.missing() && p.slashed(), !p.missing() && p.info.IsDir():
		return isDirectory(p.given)
	case p.missing():
		return nil
	case p.slashed():
		return slashedFile(p.given)
	case exclusive:
		return exists(p.given)
	}
	if err := p.regular(); err != nil {
		return err
	}
	err := p.mayWrite()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.PermissionDenied, "%s is read-only", p.given).
			Suggest("Make it writable first if it is meant to change.").With("path", p.given)
	case errors.Is(err, fs.ErrNotExist):
		return changing(p.given)
	}
	return err
}

func (h *held) writeContent(data io.Reader, opts WriteOptions) error {
	kind, mode := Create, opts.Mode.Perm()
	if !h.missing() {
		kind, mode = Replace, h.info.Mode()
	} else if mode == 0 {
		mode = newMode
	}
	sum := sha256.New()
	if h.w.recorder != nil {
		data = io.TeeReader(data, sum)
	}
	like, err := h.likeOld()
	if opts.Like != "" && err == nil {
		if like, err = h.likeOther(opts.Like); err == nil {
			mode = like.Info().Mode()
		}
	}
	if err != nil {
		return err
	}
	temp, err := h.stage(data, like, mode)
	var lost *rights.Lost
	if opts.Like != "" && errors.As(err, &lost) {
		temp, err = h.stage(data, nil, 0o600)
	}
	if why := unplaced(err); why != nil {
		s, err := h.openInPlace(why, nil)
		if err != nil {
			return err
		}
		all, err := io.ReadAll(data)
		if err != nil {
			return err
		}
		return s.recordAndWrite(all)
	}
	if err != nil {
		return h.explainLost(err)
	}
	if err := h.w.record(kind, h.resolvedPath, after{hash: hex.EncodeToString(sum.Sum(nil))}); err != nil {
		h.dir.Remove(temp)
		return err
	}
	if opts.Exclusive {
		return h.publishNew(temp)
	}
	return h.publish(temp)
}

// likeOld returns the rights of the file to be replaced, nil if it is new.
func (h *held) likeOld() (*rights.Rights, error) {
	if h.missing() {
		return nil, nil
	}
	like, err := h.original()
	return like, h.explainLost(err)
}

func (h *held) likeOther(path string) (*rights.Rights, error) {
	p, err := h.w.locate(path, true)
	if err != nil {
		return nil, err
	}
	defer p.close()
	other := &held{resolvedPath: p, w: h.w}
	like, err := other.original()
	return like, other.explainLost(err)
}

// explainLost words the error for rights that a new file cannot have.
func (h *held) explainLost(err error) error {
	var lost *rights.Lost
	if errors.As(err, &lost) {
		return lostRights(h.given, lost)
	}
	return err
}

// publish renames the temporary file over the file, or copies its content into it.
func (h *held) publish(temp string) error {
	err := inplace.NotOver(h.w.rename(h.dir, temp, h.name))
	if err == nil {
		return nil
	}
	defer h.dir.Remove(temp)
	why := unplaced(err)
	if why == nil || h.missing() {
		return err
	}
	s, err := h.openInPlace(why, h.data)
	if err != nil {
		return err
	}
	data, err := h.takeTemp(temp)
	if err != nil {
		return err
	}
	return s.write(data, h.info.Mode())
}

// publishNew is publish for a file that must not exist.
func (h *held) publishNew(temp string) error {
	err := h.dir.Link(temp, h.name)
	if err == nil {
		return h.dir.Remove(temp)
	}
	defer h.dir.Remove(temp)
	if errors.Is(err, fs.ErrExist) {
		return exists(h.given)
	}
	// The file system has no hard links.
	return renameAt(h.beside(temp), h.resolvedPath, false)
}

// Update atomically replaces the content of an existing file by the result of change: other toolhosts are excluded
// while it runs, and if another program changes the file meanwhile, the error is conflict and nothing is written.
// An error of change is returned; unchanged bytes are not written. change gets up to DefaultReadLimit bytes and
// must not write through the workspace. Other errors are those of WriteFile, not_found and too_large.
func (w *Workspace) Update(path string, change func(old []byte, info fs.FileInfo) ([]byte, error)) error {
	h, err := w.hold(path, Write)
	if err != nil {
		return err
	}
	defer h.close()
	old, info, err := h.readOld()
	if err != nil {
		return w.fail("read", path, err)
	}
	data, err := change(old, info)
	if err != nil || bytes.Equal(old, data) {
		return err
	}
	if err := h.writable(false); err != nil {
		return w.fail("write", path, cmp.Or(h.unchanged(old, info), err))
	}
	return w.fail("write", path, h.replace(old, data, info))
}

func (h *held) readOld() ([]byte, fs.FileInfo, error) {
	f, info, err := h.openFile()
	if errors.Is(err, errRaced) {
		return nil, nil, changing(h.given)
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := readAll(f, info.Size(), h.given, 0)
	return data, info, err
}

// replace replaces old, which must still be there, by data.
func (h *held) replace(old, data []byte, info fs.FileInfo) error {
	h.info, h.data = info, old
	like, err := h.likeOld()
	if err != nil {
		return err
	}
	temp, err := h.stage(bytes.NewReader(data), like, info.Mode())
	if why := unplaced(err); why != nil {
		s, err := h.openInPlace(why, old)
		if err != nil {
			return err
		}
		return s.recordAndWrite(data)
	}
	if err != nil {
		return h.explainLost(err)
	}
	err = h.unchanged(old, info)
	if err == nil {
		err = h.w.record(Replace, h.resolvedPath, after{hash: h.w.hash(data)})
	}
	if err != nil {
		h.dir.Remove(temp)
		return err
	}
	return h.publish(temp)
}

// unchanged compares the file with what was read from it.
func (h *held) unchanged(old []byte, info fs.FileInfo) error {
	f, now, err := h.openFile()
	if err != nil {
		return changing(h.given)
	}
	defer f.Close()
	if !sameContent(info, now) {
		return changing(h.given)
	}
	data, err := readAll(f, now.Size(), h.given, 0)
	if err != nil || !bytes.Equal(data, old) {
		return changing(h.given)
	}
	return nil
}

// Append adds data to the end of the file at path, or creates it. Files below 16 MiB, and all with other hard
// links, are replaced as in WriteFile, so that nothing is written through a link and a kill leaves no half of data.
// Larger ones are appended to in place. Errors are those of WriteFile.
func (w *Workspace) Append(path string, data []byte, opts WriteOptions) (created bool, err error) {
	return w.writing(path, opts, func(h *held) error {
		switch {
		case h.missing():
			return h.writeContent(bytes.NewReader(data), opts)
		case len(data) == 0:
			return nil
		case h.info.Size() >= appendInPlace && links(h.info) == 1:
			return h.extend(data)
		default:
			return h.appendCopy(data, opts)
		}
	})
}

func (h *held) appendCopy(data []byte, opts WriteOptions) error {
	f, _, err := h.openFile()
	if errors.Is(err, errRaced) {
		return changing(h.given)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return h.writeContent(io.MultiReader(f, bytes.NewReader(data)), opts)
}

// extend appends to the file itself, and truncates it again if the write fails.
func (h *held) extend(data []byte) (err error) {
	if err := h.w.record(Replace, h.resolvedPath, after{more: data}); err != nil {
		return err
	}
	f, err := h.dir.OpenFile(h.name, os.O_WRONLY|os.O_APPEND|openFlags, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(info, h.info) || !info.Mode().IsRegular() || links(info) != 1 {
		return changing(h.given)
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Truncate(info.Size()))
	}
	return f.Sync()
}
