package plugins

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/reexec"
)

// binary is a plugin's program, kept open so that the verified file is the one that runs.
type binary struct {
	path     string
	file     *os.File // nil for the host's own program
	identity identity
	sha256   string // empty until needed
	pinned   bool
	self     bool
}

func (p *plugin) openBinary() (*binary, error) {
	if p.spec.Shipped {
		return p.hostBinary()
	}
	b, err := openProgram(p.spec)
	if err != nil {
		return nil, err
	}
	if e := p.manager.cache.load(&p.spec); e != nil && b.identity.strong() && e.matches(b.identity) {
		b.sha256 = e.SHA256
	}
	if p.spec.SHA256 == "" {
		return b, nil
	}
	b.pinned = true
	if err := b.verify(p.spec); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (p *plugin) hostBinary() (*binary, error) {
	if err := reexec.Check(); err != nil {
		return nil, err
	}
	path, err := os.Executable()
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "plugin %s cannot be run: %w", p.spec.Name, err).
			Suggest("Start toolhost by its full path.")
	}
	return &binary{path: path, self: true}, nil
}

func openProgram(spec Spec) (*binary, error) {
	path, err := filepath.Abs(spec.Path)
	if err != nil {
		return nil, unreadable(spec, err)
	}
	info, err := os.Stat(path) // before opening: a FIFO would block
	if err != nil {
		return nil, unreadable(spec, err)
	}
	if !info.Mode().IsRegular() {
		return nil, unreadable(spec, errors.New(path+" is not a regular file"))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(spec, err)
	}
	id, err := identify(file)
	if err != nil {
		file.Close()
		return nil, unreadable(spec, err)
	}
	return &binary{path: path, file: file, identity: id}, nil
}

func unreadable(spec Spec, err error) *tool.Error {
	return tool.Errorf(tool.Unavailable, "plugin %s cannot be run: %w", spec.Name, err).
		Suggest("Check the source of the plugin block: it names the plugin's program.")
}

func (b *binary) verify(spec Spec) error {
	if err := b.hash(); err != nil {
		return unreadable(spec, err)
	}
	if strings.EqualFold(b.sha256, spec.SHA256) {
		return nil
	}
	return tool.Errorf(tool.Blocked,
		"the program of plugin %s is not the one that was locked: its SHA-256 is %s, not %s",
		spec.Name, b.sha256, strings.ToLower(spec.SHA256)).
		Suggest("%s", cmp.Or(spec.Repair, "If you replaced it on purpose, write its new checksum where the old one is.")).
		With("path", b.path)
}

func (b *binary) hash() error {
	if b.sha256 != "" || b.file == nil {
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(b.file, 0, 1<<62)); err != nil {
		return err
	}
	b.sha256 = hex.EncodeToString(h.Sum(nil))
	return nil
}

// verifiedPath returns a path to the open file even if its name now leads elsewhere. A script is run by its name,
// since its interpreter opens it again.
func (b *binary) verifiedPath() string {
	switch {
	case runtime.GOOS != "linux":
		return b.path
	case b.self:
		return "/proc/self/exe"
	case b.pinned && !b.isScript():
		return "/proc/self/fd/" + strconv.Itoa(int(b.file.Fd()))
	}
	return b.path
}

func (b *binary) isScript() bool {
	start := make([]byte, 2)
	n, _ := b.file.ReadAt(start, 0)
	return string(start[:n]) == "#!"
}

// unchanged fails if the program was written to, or replaced, since it was verified.
func (b *binary) unchanged() error {
	if !b.pinned {
		return nil
	}
	now, err := identify(b.file)
	if err != nil || now != b.identity {
		return errReplaced
	}
	opened, err := b.file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(b.path); err != nil || !os.SameFile(named, opened) {
		return errReplaced
	}
	return nil
}

var errReplaced = errors.New("was replaced while it was started")

func (b *binary) close() {
	if b.file != nil {
		b.file.Close()
	}
}
