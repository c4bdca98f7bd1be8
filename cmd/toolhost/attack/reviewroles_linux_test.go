package attack

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func init() { // see review_linux_test.go
	systemRoles["forge"], systemRoles["dial"] = forgeLayers, dialOut
}

// forgeLayers tries, with the marks of overlayfs in its upper layer, to fake removals in a view and to
// plant what it follows. In the end it notes what it sees.
func forgeLayers() {
	for _, name := range []string{"user.overlay.opaque", "trusted.overlay.opaque", "user.overlay.whiteout",
		"user.overlay.redirect", "user.overlay.metacopy", "user.overlay.origin", "user.overlay.upper",
		"user.overlay.overlay.opaque", "user.overlay.nlink"} {
		for _, path := range []string{".", "kept", "kept/a", "ok.txt"} {
			for _, value := range []string{"y", "x", "/outside", "../outside"} {
				_ = unix.Setxattr(path, name, []byte(value), 0)
			}
		}
	}
	_ = unix.Mknod("kept/a.gone", unix.S_IFCHR, 0)
	_ = unix.Mknod("kept/.wh.a", unix.S_IFREG|0o644, 0)
	_ = unix.Mknod("kept/.wh..wh..opq", unix.S_IFREG|0o644, 0)
	_ = os.WriteFile("moved", []byte("x"), 0o644)
	_ = unix.Renameat2(unix.AT_FDCWD, "moved", unix.AT_FDCWD, "kept/b", unix.RENAME_WHITEOUT)
	_ = unix.Renameat2(unix.AT_FDCWD, "kept/a", unix.AT_FDCWD, "ok.txt", unix.RENAME_EXCHANGE)
	_ = os.Mkdir("fresh", 0o755)
	_ = unix.Setxattr("fresh", "user.overlay.opaque", []byte("y"), 0)
	_ = os.Symlink("../outside", "fresh/out")
	_ = unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	_ = unix.Mount("none", "kept", "tmpfs", 0, "")
	if err := os.WriteFile("seen", []byte(strings.Join(listing("."), "\n")), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// listing returns kind, mode and content of all that a view keeps below a directory.
func listing(root string) (lines []string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || rel == "seen" || rel == "." || rel == "forger" {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			return nil
		}
		line := fmt.Sprintf("%s %s", rel, info.Mode())
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			line += " " + string(data)
		} else if info.Mode()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			line += " " + target
		}
		lines = append(lines, line)
		return nil
	})
	slices.Sort(lines)
	return lines
}

// dialOut tries to reach each given peer: a socket by path, an abstract one, and a port.
func dialOut() {
	for _, to := range []struct{ network, address string }{
		{"unix", "s.sock"}, {"unix", os.Getenv("ATTACK_ABSTRACT")}, {"tcp", os.Getenv("ATTACK_CANARY")},
		{"udp", os.Getenv("ATTACK_CANARY")}} {
		c, err := net.DialTimeout(to.network, to.address, 2*time.Second)
		if err != nil {
			fmt.Println(to.network, err)
			continue
		}
		_, _ = c.Write([]byte("told"))
		_ = c.Close()
	}
	_ = os.WriteFile("dialled", []byte("all\n"), 0o644)
}
