package launch

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// backlog is how many connections may wait to be accepted.
const backlog = 1024

// loopbackIndex is the number of the loopback interface, the first of every network namespace.
const loopbackIndex = 1

// openNetwork gives the loopback interface its addresses, opens the sockets and hands them to the host. The
// launcher keeps its end of p.Network open until it ends, which tells the host.
func (p *Plan) openNetwork(s *script) {
	v4, v6 := s.cell(), s.cell()
	const step = "socket for addresses"
	s.call(step, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0).into(v4)
	for i, address := range p.Addresses {
		if address.Addr().Is4() {
			s.addIPv4(v4, i, address)
			continue
		}
		s.call(step, unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0).into(v6)
		s.addIPv6(v6, address)
		s.close(v6)
	}
	s.close(v4)
	p.handOver(s)
}

// addIPv4 adds an address by an alias of the interface. With a shorter prefix, the whole network is this
// machine's.
func (s *script) addIPv4(fd cell, index int, address netip.Prefix) {
	set := func(step string, request int, value [4]byte) {
		var ifreq [40]byte // struct ifreq with a struct sockaddr_in
		copy(ifreq[:], "lo:"+strconv.Itoa(index))
		binary.NativeEndian.PutUint16(ifreq[16:], unix.AF_INET)
		copy(ifreq[20:], value[:])
		s.call(step+address.String(), unix.SYS_IOCTL, fd, request, s.buffer(ifreq[:]))
	}
	set("add the address ", unix.SIOCSIFADDR, address.Addr().As4())
	var mask [4]byte
	binary.BigEndian.PutUint32(mask[:], ^uint32(0)<<(32-address.Bits()))
	set("add the network ", unix.SIOCSIFNETMASK, mask)
}

func (s *script) addIPv6(fd cell, address netip.Prefix) {
	var request struct { // struct in6_ifreq
		addr   [16]byte
		prefix uint32
		index  int32
	}
	request.addr, request.prefix, request.index = address.Addr().As16(), uint32(address.Bits()), loopbackIndex
	s.call("add the address "+address.String(), unix.SYS_IOCTL, fd, unix.SIOCSIFADDR,
		s.buffer(unsafe.Slice((*byte)(unsafe.Pointer(&request)), unsafe.Sizeof(request))))
}

// handOver opens the sockets and sends them to the host, as in sendmsg(2). A result takes eight bytes where a
// descriptor has four: the next one overwrites its upper half, which a call with the descriptor does not see.
func (p *Plan) handOver(s *script) {
	size := 4 * len(p.Sockets)
	header := appendWords(nil, uint64(unix.SizeofCmsghdr+size), unix.SOL_SOCKET|unix.SCM_RIGHTS<<32)
	rights := s.buffer(append(header, make([]byte, size+8)...))
	fd := func(i int) cell { return cell(rights + unix.SizeofCmsghdr + address(4*i)) }
	for i, socket := range p.Sockets {
		s.openSocket(fd(i), socket)
	}
	content := s.words(uint64(s.data([]byte{0})), 1)
	length := (unix.SizeofCmsghdr + size + 7) &^ 7
	message := s.words(0, 0, uint64(content), 1, uint64(rights), uint64(length), 0)
	s.call("hand over the network", unix.SYS_SENDMSG, p.Network, message, unix.MSG_NOSIGNAL).unless(1).
		otherwise(&s.quit)
	for i := range p.Sockets {
		s.close(fd(i))
	}
}

func (s *script) openSocket(fd cell, socket Socket) {
	at := socket.At.String()
	family, kind := unix.AF_INET, unix.SOCK_STREAM
	if socket.At.Addr().Is6() {
		family = unix.AF_INET6
	}
	if socket.Datagram {
		kind = unix.SOCK_DGRAM
	}
	s.call("socket for "+at, unix.SYS_SOCKET, family, kind|unix.SOCK_CLOEXEC, 0).into(fd)
	if !socket.Datagram {
		one := s.data(binary.NativeEndian.AppendUint32(nil, 1))
		s.call("reuse "+at, unix.SYS_SETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, one, 4)
	}
	if socket.At.Addr().Is6() { // an address that was just added cannot be bound to for a moment, unless freely
		one := s.data(binary.NativeEndian.AppendUint32(nil, 1))
		s.call("bind freely "+at, unix.SYS_SETSOCKOPT, fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, one, 4)
	}
	name := socketAddress(socket.At)
	s.call("bind "+at, unix.SYS_BIND, fd, s.data(name), len(name))
	if !socket.Datagram {
		s.call("listen at "+at, unix.SYS_LISTEN, fd, backlog)
	}
}

func socketAddress(at netip.AddrPort) []byte {
	family := uint16(unix.AF_INET)
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	name := binary.NativeEndian.AppendUint16(nil, family)
	name = binary.BigEndian.AppendUint16(name, at.Port())
	if at.Addr().Is6() {
		name = append(name, 0, 0, 0, 0) // flow
		name = append(name, at.Addr().AsSlice()...)
		return append(name, 0, 0, 0, 0) // scope
	}
	name = append(name, at.Addr().AsSlice()...)
	return append(name, make([]byte, 8)...)
}
