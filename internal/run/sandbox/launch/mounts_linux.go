package launch

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	plainMount     = unix.MS_NOSUID | unix.MS_NODEV
	inertMount     = plainMount | unix.MS_NOEXEC
	scratchMode    = "mode=1777"
	hiddenMode     = "mode=0755,size=1m"
	blankDirectory = "/dev/.blank"
	voidFile       = "/dev/.void"
)

var devices = [...]string{"null", "zero", "full", "random", "urandom", "tty"}

// gone are the errors of a missing or inaccessible path: it needs no grant and no hiding.
var gone = []syscall.Errno{unix.ENOENT, unix.EACCES, unix.ENOTDIR}

// arrange makes the view: everything read-only, then the changes. Their sources are opened before that.
func (p *Plan) arrange(s *script) {
	s.mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	trees := make([]cell, len(p.View))
	for i, change := range p.View {
		switch change.Kind {
		case Writable, ReadOnly:
			trees[i] = s.takeTree(cmp.Or(p.From[change.Path], change.Path))
		case Overlay:
			if layer := p.Layers[change.Path]; layer.Work != "" {
				trees[i] = s.takeOverlay(change.Path, layer)
			} else {
				trees[i] = s.takeTree(layer.Upper)
			}
		}
	}
	var nodes [len(devices)]cell
	for i, name := range devices {
		nodes[i] = s.clone("/dev/" + name)
	}
	s.restrict(unix.AT_FDCWD, "/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV,
		unix.AT_RECURSIVE)
	p.makeDev(s, nodes)
	// Files below /proc belong to root, who needs no rights to write to them.
	s.mount("proc", "/proc", "proc", inertMount|unix.MS_RDONLY, "")
	for i, change := range p.View {
		if change.Kind == Text {
			trees[i] = s.clone(textFile(i))
		}
		p.change(s, change, trees[i])
	}
	for _, change := range p.View {
		if change.Kind == Hidden { // all that appears in it is mounted by now
			s.restrict(unix.AT_FDCWD, change.Path, unix.MOUNT_ATTR_RDONLY, 0).orElse(nil, append(slices.Clip(gone), unix.EINVAL)...)
		}
	}
}

// makeDev makes a small /dev, with room for what covers hidden files.
func (p *Plan) makeDev(s *script, nodes [len(devices)]cell) {
	s.mount("tmpfs", "/dev", "tmpfs", inertMount, hiddenMode)
	for i, name := range devices {
		s.touch("/dev/"+name, 0o666)
		s.call("show /dev/"+name, unix.SYS_MOVE_MOUNT, nodes[i], "", unix.AT_FDCWD, "/dev/"+name,
			unix.MOVE_MOUNT_F_EMPTY_PATH)
		s.close(nodes[i])
	}
	for _, dir := range []string{"/dev/pts", "/dev/shm", blankDirectory} {
		s.call("make "+dir, unix.SYS_MKDIRAT, unix.AT_FDCWD, dir, 0o755)
	}
	for _, link := range [...][2]string{
		{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
		{"/dev/stderr", "/proc/self/fd/2"}, {"/dev/ptmx", "pts/ptmx"},
	} {
		s.call("make "+link[0], unix.SYS_SYMLINKAT, link[1], unix.AT_FDCWD, link[0])
	}
	s.touch(voidFile, 0o444)
	for i, change := range p.View {
		if change.Kind == Text {
			s.fill(textFile(i), p.Texts[change.Path])
		}
	}
	s.mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	// Copies of a read-only mount are read-only too.
	s.restrict(unix.AT_FDCWD, "/dev", unix.MOUNT_ATTR_RDONLY, 0)
}

// change makes one change. A missing path needs no hiding.
func (p *Plan) change(s *script, change Change, tree cell) {
	switch change.Kind {
	case Scratch:
		s.cover(change.Path, scratchMode+",size="+strconv.FormatInt(p.TmpSize, 10))
	case Hidden:
		s.cover(change.Path, hiddenMode)
	case Blank:
		s.hide(s.clone(blankDirectory), change.Path)
	case Void:
		s.hide(s.clone(voidFile), change.Path)
	case Text:
		p.makePlace(s, change.Path)
		s.hide(tree, change.Path)
	default:
		if change.Kind == Again {
			tree = s.takeTree(change.Path)
		}
		set := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
		if change.Kind == ReadOnly {
			set |= unix.MOUNT_ATTR_RDONLY
		}
		s.restrict(tree, "", set, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
		p.makePlace(s, change.Path)
		s.mountTree(tree, "show "+change.Path, change.Path)
	}
}

// makePlace makes the mount point of a tree where hiding removed it.
func (p *Plan) makePlace(s *script, path string) {
	hidden := ""
	for _, change := range p.View {
		if (change.Kind == Hidden || change.Kind == Scratch) && strings.HasPrefix(path, change.Path+"/") {
			hidden = change.Path
		}
	}
	if hidden == "" {
		return
	}
	for at, rest := hidden, path[len(hidden)+1:]; rest != ""; {
		name, below, _ := strings.Cut(rest, "/")
		at, rest = filepath.Join(at, name), below
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			s.try(unix.SYS_MKNODAT, unix.AT_FDCWD, at, unix.S_IFREG|0o644, 0)
		} else {
			s.try(unix.SYS_MKDIRAT, unix.AT_FDCWD, at, 0o755)
		}
	}
}

// openPlace opens a path with O_PATH and without symlinks: a user who may write there must not choose what becomes
// visible, or where.
func (s *script) openPlace(step, path string) (o *op, at cell) {
	at = s.cell()
	how := s.words(unix.O_PATH|unix.O_CLOEXEC, 0, unix.RESOLVE_NO_SYMLINKS) // struct open_how
	return s.call(step, unix.SYS_OPENAT2, unix.AT_FDCWD, path, how, unix.SizeofOpenHow).into(at), at
}

// takeTree copies the mounts below path.
func (s *script) takeTree(path string) (tree cell) {
	tree = s.cell()
	_, at := s.openPlace("open "+path, path)
	s.call("take "+path, unix.SYS_OPEN_TREE, at, "",
		unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLOEXEC).into(tree)
	s.close(at)
	return tree
}

// clone copies the mounts at path, where only this process can write.
func (s *script) clone(path string) (tree cell) {
	tree = s.cell()
	s.call("take "+path, unix.SYS_OPEN_TREE, unix.AT_FDCWD, path,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW).into(tree)
	return tree
}

func (s *script) mountTree(tree cell, step, path string) {
	_, at := s.openPlace(step, path)
	s.move(tree, step, at)
	s.close(at)
	s.close(tree)
}

// hide mounts a tree over an existing path. A path removed or replaced after it was opened is opened again,
// only a few times: the descriptors stay open until the launcher ends.
func (s *script) hide(tree cell, path string) {
	var again, passed label
	s.here(&again)
	open, at := s.openPlace("hide "+path, path)
	open.orElse(&passed, gone...)
	s.move(tree, "hide "+path, at).orElse(&again, unix.ENOENT)
	s.close(at)
	s.here(&passed)
	s.close(tree)
}

func (s *script) move(tree cell, step string, at cell) *op {
	return s.call(step, unix.SYS_MOVE_MOUNT, tree, "", at, "",
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// restrict sets mount attributes. at is a tree or the current directory.
func (s *script) restrict(at any, path string, set, flags int) *op {
	return s.call("restrict "+path, unix.SYS_MOUNT_SETATTR, at, path, flags, s.words(uint64(set), 0, 0, 0), 32)
}

func (s *script) mount(source, target, kind string, flags int, data string) *op {
	step := "mount " + kind + " on " + target
	if kind == "" {
		step = "change the mount " + target
	}
	return s.call(step, unix.SYS_MOUNT, source, target, kind, flags, data)
}

func (s *script) cover(path, mode string) {
	s.mount("tmpfs", path, "tmpfs", plainMount, mode).orElse(nil, gone...)
}

// textFile is the path of the content of a Text, by its index in the view.
func textFile(i int) string { return "/dev/.text" + strconv.Itoa(i) }

func (s *script) fill(path, content string) {
	fd := s.cell()
	s.call("create "+path, unix.SYS_OPENAT, unix.AT_FDCWD, path,
		unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o444).into(fd)
	s.call("write "+path, unix.SYS_WRITE, fd, s.data([]byte(content)), len(content)).unless(len(content)).
		otherwise(&s.quit)
	s.close(fd)
}

func (s *script) touch(path string, mode int) {
	s.call("create "+path, unix.SYS_MKNODAT, unix.AT_FDCWD, path, unix.S_IFREG|mode, 0)
}

func (s *script) close(fd cell) { s.try(unix.SYS_CLOSE, fd) }
