package workspace

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/inplace"
	"github.com/toolhost/toolhost/internal/file/rights"
)

func (h *held) original() (*rights.Rights, error) {
	if err := h.regular(); err != nil {
		return nil, err
	}
	f, err := h.openName(h.name, openFlags, 0)
	if errors.Is(err, fs.ErrPermission) { // may be writable but not readable
		f, err = h.openName(h.name, os.O_WRONLY|openFlags, 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, h.w.escape), errors.Is(err, syscall.ELOOP):
		return nil, changing(h.given) // a symlink by now
	case err != nil:
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, h.info) {
		return nil, changing(h.given)
	}
	return rights.Of(f, info)
}

func lostRights(path string, lost *rights.Lost) error {
	e := tool.Errorf(tool.Unsupported, "cannot write %s: %s", path, lost.Error()).
		Suggest("Nothing was changed. Let a user change it who can keep that, for example its owner.").
		With("path", path)
	return wrap(e, lost)
}

// inPlaceFile is a file to be written in place, since no other file can replace it.
type inPlaceFile struct {
	*held
	why *inplace.Fixed
	old []byte // the content before
	new []byte // the content after
}

// openInPlace opens a file that cannot be replaced, and refuses what cannot be written in place and restored after a
// failure. was is the expected content; nil means any.
func (h *held) openInPlace(why *inplace.Fixed, was []byte) (*inPlaceFile, error) {
	var lost *rights.Lost
	switch {
	case h.missing() && errors.As(why, &lost):
		return nil, lostRights(h.given, lost)
	case h.missing():
		return nil, h.fixed(why, "", "Make the directory writable, or write to another place.")
	}
	f, info, err := h.openUnchanged()
	if err != nil {
		return nil, h.notInPlace(why, err)
	}
	defer f.Close()
	if links(info) > 1 {
		return nil, h.fixed(why, "it cannot be written in place either: it has other hard links",
			"Nothing was changed. Copy the file to another name, and change the copy.")
	}
	old, err := readAll(f, h.info.Size(), h.given, 0)
	if err != nil {
		return nil, h.notInPlace(why, err)
	}
	if was != nil && !bytes.Equal(was, old) {
		return nil, changing(h.given)
	}
	h.data = old
	return &inPlaceFile{held: h, why: why, old: old}, nil
}

// fixed returns the error for a file that can neither be replaced nor, for the other reason, be written in
// place.
func (h *held) fixed(why *inplace.Fixed, other, suggestion string) error {
	text := why.Why
	if other != "" {
		text += ", so that no new file can take its place, and " + other
	}
	code, _, _ := classify(why.Err)
	if code == tool.Internal {
		code = tool.Unsupported
	}
	e := tool.Errorf(code, "cannot write %s: %s", h.given, text).Suggest("%s", suggestion).With("path", h.given)
	return wrap(e, why)
}

func (h *held) notInPlace(why *inplace.Fixed, err error) error {
	if errors.Is(err, &tool.Error{Code: tool.Conflict}) {
		return err
	}
	_, what, _ := classify(err)
	var own *tool.Error
	if errors.As(err, &own) {
		what = own.Message
	}
	return h.fixed(why, "it cannot be written in place: "+what,
		"Nothing was changed. Let a user change it who is allowed to.")
}

// openUnchanged opens the file as found for reading and writing.
func (h *held) openUnchanged() (*os.File, fs.FileInfo, error) {
	f, err := h.openName(h.name, os.O_RDWR|openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, changing(h.given)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !sameContent(info, h.info) {
		err = changing(h.given)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// write sets the content of a file that is unchanged since it was examined.
func (s *inPlaceFile) write(data []byte, mode fs.FileMode) error {
	f, _, err := s.openUnchanged()
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := readAll(f, s.info.Size(), s.given, 0)
	if err != nil || !bytes.Equal(now, s.old) {
		return changing(s.given)
	}
	if err := inplace.Write(f, s.old, data, mode, s.w.sync); err != nil {
		return s.failed(err)
	}
	s.new = data
	return nil
}

func (s *inPlaceFile) recordAndWrite(data []byte) error {
	if err := s.w.record(Replace, s.resolvedPath, after{hash: s.w.hash(data)}); err != nil {
		return err
	}
	return s.write(data, s.info.Mode())
}

// failed returns the error for a failed write in place, with the state of the file.
func (s *inPlaceFile) failed(err error) error {
	var damaged *inplace.Damaged
	code, what, _ := classify(err)
	if !errors.As(err, &damaged) {
		return wrap(tool.Errorf(code, "cannot write %s in place (%s): %s", s.given, s.why.Why, what).
			Suggest("Nothing was changed: what was there has been written back. See what keeps it from being written.").
			With("path", s.given), err)
	}
	_, back, _ := classify(damaged.Back)
	return wrap(tool.Errorf(code, "%s was damaged when it was written in place (%s): %s, and its old content could "+
		"not be written back: %s", s.given, s.why.Why, what, back).
		Suggest("Repair what is wrong with the disk; then toolhost undo brings the old content back.").
		With("path", s.given), err)
}

// writeBack reverts a write unless another program has written since.
func (s *inPlaceFile) writeBack() {
	f, err := s.openName(s.name, os.O_RDWR|openFlags, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, s.info) {
		return
	}
	now, err := readAll(f, info.Size(), s.given, 0)
	if err == nil && bytes.Equal(now, s.new) {
		_ = inplace.Write(f, now, s.old, s.info.Mode(), s.w.sync)
	}
}

// unplaced returns the *inplace.Fixed in the error of a new file that cannot be created beside, cannot have the
// owner, or cannot replace the file.
func unplaced(err error) *inplace.Fixed {
	var fixed *inplace.Fixed
	var lost *rights.Lost
	switch {
	case errors.As(err, &fixed):
		return fixed
	case errors.As(err, &lost) && lost.Owner:
		return &inplace.Fixed{Why: lost.What + " cannot be kept", Err: lost}
	}
	return nil
}

func (h *held) takeTemp(temp string) ([]byte, error) {
	f, err := h.openName(temp, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer h.dir.Remove(temp)
	defer f.Close()
	return io.ReadAll(f)
}
