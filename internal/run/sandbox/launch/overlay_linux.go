package launch

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// The descriptors of an overlay's open layers: a mount option cannot hold every name.
const (
	lowerLayer = 240 + iota
	upperLayer
	workLayer
)

// takeOverlay makes a view of a directory whose changes go to the upper directory of the layer.
func (s *script) takeOverlay(dir string, layer Layer) (tree cell) {
	tree = s.cell()
	config := s.cell()
	step := "make a view of " + dir
	for i, path := range []string{dir, layer.Upper, layer.Work} {
		_, at := s.openPlace("open "+path, path)
		s.call(step, unix.SYS_DUP3, at, lowerLayer+i, unix.O_CLOEXEC).unless(lowerLayer + i)
		s.close(at)
	}
	s.call(step, unix.SYS_FSOPEN, "overlay", unix.FSOPEN_CLOEXEC).into(config)
	for i, option := range []string{"lowerdir", "upperdir", "workdir"} {
		s.call(step, unix.SYS_FSCONFIG, config, unix.FSCONFIG_SET_STRING, option,
			"/proc/self/fd/"+strconv.Itoa(lowerLayer+i), 0)
	}
	for _, flag := range []string{"userxattr", "volatile"} {
		s.call(step, unix.SYS_FSCONFIG, config, unix.FSCONFIG_SET_FLAG, flag, 0, 0)
	}
	s.call(step, unix.SYS_FSCONFIG, config, unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
	s.call(step, unix.SYS_FSMOUNT, config, unix.FSMOUNT_CLOEXEC, 0).into(tree)
	s.close(config)
	s.try(unix.SYS_CLOSE_RANGE, lowerLayer, workLayer, 0)
	return tree
}
