package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// tryWay reaches an address in one of the ways of waysOut. It is reached if the other side says hello.
func tryWay(way, address string) error {
	if way == "kernel" {
		return kernelWays[address]()
	}
	if around := aroundWays[way]; around != nil {
		return around(address)
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var dialer net.Dialer
	if rest, ok := strings.CutPrefix(way, "mp"); ok {
		way = rest
		dialer.SetMultipathTCP(true)
	}
	if strings.HasPrefix(way, "unixgram") {
		dialer.LocalAddr = &net.UnixAddr{Name: fmt.Sprintf("@way-%d-%d", os.Getpid(), time.Now().UnixNano()), Net: way}
	}
	conn, err := dialer.DialContext(ctx, way, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("?")); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err == nil && string(answer[:n]) != "hello" {
		err = fmt.Errorf("another answers: %q", answer[:n])
	}
	return err
}

// kernelWays are ways to the network without connect: sockets of other kinds, and calls.
var kernelWays = map[string]func() error{
	"raw":          opened(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
	"raw-tcp":      opened(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP),
	"raw6":         opened(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6),
	"packet":       opened(unix.AF_PACKET, unix.SOCK_RAW, 0),
	"packet-dgram": opened(unix.AF_PACKET, unix.SOCK_DGRAM, 0),
	"uevent":       opened(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
	"netfilter":    opened(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER),
	"generic":      opened(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC),
	"vsock":        opened(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	"alg":          opened(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	"udplite":      opened(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE),
	"sctp":         opened(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP),
	"dccp":         opened(unix.AF_INET, unix.SOCK_DCCP, unix.IPPROTO_DCCP),
	"io_uring": func() error {
		var params [120]byte
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		if errno != 0 {
			return errno
		}
		return unix.Close(int(fd))
	},
}

func opened(family, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
}

// helloEverywhere serves hello at all addresses of this machine, at one port over TCP and UDP, and by unix
// sockets.
func helloEverywhere(t *testing.T) (port int, listener string, sockets map[string]string) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	port = l.Addr().(*net.TCPAddr).Port
	raw, err := l.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { listener = fmt.Sprintf("%d:%d:%d", os.Getpid(), fd, port) }))
	dir := t.TempDir()
	stream, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	abstract := fmt.Sprintf("@toolhost-%d", time.Now().UnixNano())
	listeners := []net.Listener{l, stream}
	for _, kind := range []string{"unix", "unixpacket"} {
		listener, err := net.Listen(kind, abstract+kind)
		require.NoError(t, err)
		listeners = append(listeners, listener)
	}
	for _, l := range listeners {
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					_, _ = conn.Read(make([]byte, 1))
					_, _ = io.WriteString(conn, "hello")
					_ = conn.Close()
				}()
			}
		}()
	}
	udp, err := net.ListenPacket("udp", fmt.Sprintf(":%d", port))
	require.NoError(t, err)
	datagrams, err := net.ListenPacket("unixgram", abstract+"unixgram")
	require.NoError(t, err)
	for _, conn := range []net.PacketConn{udp, datagrams} {
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			for {
				_, from, err := conn.ReadFrom(make([]byte, 1))
				if err != nil {
					return
				}
				_, _ = conn.WriteTo([]byte("hello"), from)
			}
		}()
	}
	return port, listener, map[string]string{"unix": filepath.Join(dir, "s"), "unix abstract": abstract + "unix",
		"unixpacket": abstract + "unixpacket", "unixgram": abstract + "unixgram"}
}

// waysOut returns the ways to this machine's own servers: by each of its addresses, however written, by each
// protocol, and without an address.
func waysOut(t *testing.T) (ways []string) {
	t.Helper()
	port, listener, sockets := helloEverywhere(t)
	hosts := []string{"127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1",
		"::ffff:127.9.9.9", "::ffff:0.0.0.0", "localhost", "localhost.", "LOCALHOST"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	own, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && !ip.IP.IsLinkLocalUnicast() {
			hosts = append(hosts, ip.IP.String())
			if v4 := ip.IP.To4(); v4 != nil {
				hosts = append(hosts, "::ffff:"+v4.String())
			}
		}
	}
	for _, host := range hosts {
		for _, protocol := range []string{"tcp", "udp", "tcp4", "tcp6", "udp4", "udp6", "mptcp"} {
			ways = append(ways, "way:"+protocol+"="+net.JoinHostPort(host, fmt.Sprint(port)))
		}
	}
	for name := range kernelWays {
		ways = append(ways, "way:kernel="+name)
	}
	for kind, address := range sockets {
		protocol, _, _ := strings.Cut(kind, " ")
		ways = append(ways, "way:"+protocol+"="+address)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "rights"), fmt.Sprintf("@rights-%d", time.Now().UnixNano())} {
		passConnections(t, path, port)
		ways = append(ways, "way:rights="+path)
	}
	return append(ways, fmt.Sprintf("way:fastopen=127.0.0.1:%d", port), fmt.Sprintf("way:fastopen=0.0.0.0:%d", port),
		"way:descriptor="+listener, "way:namespace=any", "way:unshare=own", "way:bind=/etc/hosts", "way:bind=/etc/resolv.conf")
}

// Whatever a list grants, only its own entry leads to this machine's servers, for root and for an ordinary
// user. Each way works outside of the sandbox.
func TestNoWayLeadsAround(t *testing.T) {
	testneed.NotShort(t, "needs a level of the sandbox")
	if testneed.Superuser() {
		t.Run("as an ordinary user", asOrdinary)
	}
	var ways []string
	groups := make(map[string]int)
	for _, way := range waysOut(t) {
		kind, address, _ := strings.Cut(way, "=")
		if tryWay(strings.TrimPrefix(kind, "way:"), address) == nil { // the control
			ways = append(ways, way)
			groups[strings.TrimRight(strings.TrimPrefix(kind, "way:"), "46")]++
		}
	}
	for group, least := range map[string]int{"tcp": 1, "udp": 1, "mptcp": 1, "unix": 1, "unixgram": 1, "unixpacket": 1, "rights": 2,
		"fastopen": 2, "descriptor": 1, "unshare": 1, "bind": 2} {
		assert.GreaterOrEqual(t, groups[group], least, "control: %s works outside", group)
	}
	if testneed.Superuser() {
		assert.NotZero(t, groups["namespace"], "control: the root user enters namespaces outside")
	}
	tried := 0
	for name, policy := range map[string]sandbox.Policy{
		"nothing": {}, "a name": {Hosts: []string{"a.example"}}, "names below": {Hosts: []string{"*.example:8443"}},
		"asking": {Hosts: []string{"ask"}}, "another port of this machine": {Hosts: []string{"localhost:9"}},
		"an address": {Hosts: []string{"10.1.2.3:5432", "[2001:db8::1]:443"}},
	} {
		got, _ := reachBy(t, policy, ways...)
		for _, way := range ways {
			assert.NotEmpty(t, got[way], "%s: %s", name, way)
			tried++
		}
	}
	t.Logf("%d ways (%d of the kernel) with %d lists: %d attempts, none through", len(ways), groups["kernel"],
		tried/max(len(ways), 1), tried)
}

// asOrdinary runs the calling test as a user without rights.
func asOrdinary(t *testing.T) {
	const uid = 65534
	base := testneed.VisibleDir(t)
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	testfile.Program(t, filepath.Join(base, "tests"), string(self))
	home := filepath.Join(base, "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	require.NoError(t, os.Chown(home, uid, uid))
	name, _, _ := strings.Cut(t.Name(), "/")
	tests := exec.Command(filepath.Join(base, "tests"), "-test.run=^"+name+"$", "-test.v", "-test.timeout=5m")
	tests.Dir, tests.Env = home, append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_CACHE_HOME="+home)
	tests.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := tests.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
}
