package network

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// ttl is how long a program may keep an answer. Addresses do not change meanwhile.
	ttl = 60
	// mostDNS bounds a question, over UDP and TCP.
	mostDNS = 4 << 10
	// queryIdle bounds the wait for a question over TCP.
	queryIdle = 30 * time.Second
)

// answer answers a DNS message without asking another server; nil means no answer.
func (s *Server) answer(question []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(question)
	if err != nil || header.Response {
		return nil
	}
	questions, err := p.AllQuestions()
	reply := dnsmessage.Header{ID: header.ID, Response: true, OpCode: header.OpCode,
		RecursionDesired: header.RecursionDesired, RecursionAvailable: true}
	switch {
	case err != nil || len(questions) != 1:
		reply.RCode, questions = dnsmessage.RCodeFormatError, nil
		return built(reply, nil, nil, false)
	case header.OpCode != 0 || questions[0].Class != dnsmessage.ClassINET:
		reply.RCode = dnsmessage.RCodeNotImplemented
		return built(reply, questions, nil, hasEDNS(&p))
	}
	records, code := s.resolve(questions[0])
	reply.RCode = code
	return built(reply, questions, records, hasEDNS(&p))
}

// hasEDNS reports whether a question has an OPT record, which the answer must then have.
func hasEDNS(p *dnsmessage.Parser) bool {
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return false
	}
	for {
		header, err := p.AdditionalHeader()
		if err != nil {
			return false
		}
		if header.Type == dnsmessage.TypeOPT {
			return true
		}
		if p.SkipAdditional() != nil {
			return false
		}
	}
}

func built(h dnsmessage.Header, questions []dnsmessage.Question, answers []dnsmessage.Resource, edns bool) []byte {
	m := dnsmessage.Message{Header: h, Questions: questions, Answers: answers}
	if edns {
		opt := dnsmessage.Resource{Body: &dnsmessage.OPTResource{}}
		if opt.Header.SetEDNS0(mostDNS, dnsmessage.RCodeSuccess, false) == nil {
			opt.Header.Name = dnsmessage.MustNewName(".")
			m.Additionals = append(m.Additionals, opt)
		}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// resolve finds the records of a question. A name that is not on the list does not exist: after a refusal programs
// would ask again.
func (s *Server) resolve(q dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	asked := q.Name.String()
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: dnsmessage.ClassINET, TTL: ttl}
	if addr, ok := reverse(asked); ok {
		name, err := dnsmessage.NewName(s.nameOf(addr) + ".")
		if err != nil || name.Length == 1 {
			return nil, dnsmessage.RCodeNameError
		}
		if q.Type != dnsmessage.TypePTR {
			return nil, dnsmessage.RCodeSuccess
		}
		return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.PTRResource{PTR: name}}},
			dnsmessage.RCodeSuccess
	}
	name, err := HostName(asked)
	local := name == "localhost" || strings.HasSuffix(name, ".localhost")
	switch {
	case err != nil || !local && !(IsHostName(name) && s.list.knows(name)):
		s.log.refuse(name, 0, notNamed)
		return nil, dnsmessage.RCodeNameError
	case q.Type != dnsmessage.TypeA:
		return nil, dnsmessage.RCodeSuccess // no IPv6, no other ports or keys by HTTPS records
	}
	addr := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if !local {
		s.log.lookedUp(name)
		if addr, err = s.addressOf(name); err != nil {
			s.log.refuse(name, 0, err.Error())
			return nil, dnsmessage.RCodeServerFailure
		}
	}
	return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}}},
		dnsmessage.RCodeSuccess
}

// reverse parses the address in a name below in-addr.arpa.
func reverse(name string) (netip.Addr, bool) {
	digits, ok := strings.CutSuffix(strings.ToLower(name), ".in-addr.arpa.")
	if !ok {
		return netip.Addr{}, false
	}
	parts := strings.Split(digits, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	addr, err := netip.ParseAddr(strings.Join(parts, "."))
	return addr, err == nil
}

// serveUDP answers questions from a socket, from the address that was asked.
func (s *Server) serveUDP(conn *net.UDPConn) {
	data, oob := make([]byte, mostDNS), make([]byte, 256)
	for {
		n, m, _, from, err := conn.ReadMsgUDPAddrPort(data, oob)
		if err != nil {
			return
		}
		if reply := s.answer(data[:n]); reply != nil {
			_, _, _ = conn.WriteMsgUDPAddrPort(reply, oob[:m], from)
		}
	}
}

func (s *Server) serveDNS(conn net.Conn) {
	defer conn.Close()
	for {
		_ = conn.SetDeadline(time.Now().Add(queryIdle))
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(size[:]))
		if n > mostDNS {
			return
		}
		question := make([]byte, n)
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		reply := s.answer(question)
		if reply == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}
