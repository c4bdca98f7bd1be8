package sandbox_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// aroundWays are ways that do not begin with the process's own socket.
var aroundWays = map[string]func(address string) error{
	"fastopen":   fastOpen,
	"rights":     receiveDescriptor,
	"descriptor": takeDescriptor,
	"namespace":  enterNamespace,
	"bind":       bindOwn,
	"unshare":    unshareNetwork,
}

// fastOpen sends to an address with the first packet, without connect.
func fastOpen(address string) error {
	to, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, []byte("?"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}); err != nil {
		return err
	}
	return greeted(fd)
}

func greeted(fd int) error {
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := unix.Read(fd, answer)
	if err == nil && string(answer[:max(n, 0)]) != "hello" {
		err = fmt.Errorf("another answers: %q", answer[:max(n, 0)])
	}
	return err
}

// receiveDescriptor gets a connection from a program outside through a unix socket.
func receiveDescriptor(path string) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return errors.New("no descriptor has come")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return errors.New("no descriptor has come")
	}
	defer unix.Close(fds[0])
	if _, err := unix.Write(fds[0], []byte("?")); err != nil {
		return err
	}
	return greeted(fds[0])
}

// passConnections passes clients of a unix socket a connection to a port.
func passConnections(t *testing.T, path string, port int) {
	t.Helper()
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			made, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err == nil {
				if file, err := made.(*net.TCPConn).File(); err == nil {
					_, _, _ = conn.(*net.UnixConn).WriteMsgUnix([]byte{0}, unix.UnixRights(int(file.Fd())), nil)
					_ = file.Close()
				}
				_ = made.Close()
			}
			_ = conn.Close()
		}
	}()
}

// takeDescriptor takes a listening socket out of a process: "PID:DESCRIPTOR:PORT".
func takeDescriptor(which string) error {
	var pid, fd, port int
	if _, err := fmt.Sscanf(which, "%d:%d:%d", &pid, &fd, &port); err != nil {
		return err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	taken, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return err
	}
	defer unix.Close(taken)
	at, err := unix.Getsockname(taken)
	if of, ok := at.(*unix.SockaddrInet6); err == nil && (!ok || of.Port != port) {
		err = errors.New("it is another's")
	}
	return err
}

// enterNamespace enters the network namespace of any process that /proc shows.
func enterNamespace(string) error {
	found, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return err
	}
	err = errors.New("there is none")
	for _, path := range found {
		entered := make(chan error)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with it
			file, err := os.Open(path)
			if err == nil {
				err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
				_ = file.Close()
			}
			entered <- err
		}()
		if err = <-entered; err == nil {
			return nil
		}
	}
	return err
}

// bindOwn covers a file by which names are looked up with its own, in its own mount namespace.
func bindOwn(path string) error {
	own, err := os.CreateTemp("", "own")
	if err != nil {
		return err
	}
	defer os.Remove(own.Name())
	_, err = own.WriteString("nameserver 127.0.0.1\n127.0.0.1 own.example\n")
	if err := errors.Join(err, own.Close()); err != nil {
		return err
	}
	return inOwnNamespaces(syscall.CLONE_NEWNS, "sh", "-c", `mount --bind "$0" "$1" && grep -q own.example "$1"`, own.Name(), path)
}

// unshareNetwork starts a program in its own network namespace, where it could listen as the sandbox's server
// does.
func unshareNetwork(string) error { return inOwnNamespaces(syscall.CLONE_NEWNET, "true") }

func inOwnNamespaces(kind uintptr, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | kind,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	return cmd.Run()
}
