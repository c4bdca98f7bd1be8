package network

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// relay copies between a connection of the process and the one made for it outside.
type relay struct {
	inside  *net.TCPConn
	outside net.Conn
	name    string // of the host; "" for an address
	over    <-chan struct{}
}

// run copies both ways until both have ended, and counts. refused is why it was refused.
func (r *relay) run() (sent, received int64, refused error) {
	var back sync.WaitGroup
	back.Go(func() {
		n, err := io.Copy(r.inside, r.outside)
		received = n
		if err != nil {
			reset(r.inside) // which ends the other direction, too
			return
		}
		_ = r.inside.CloseWrite()
	})
	done := make(chan struct{})
	defer close(done)
	go r.endLate(done)
	sent, refused, err := r.forward()
	if refused != nil || err != nil {
		reset(r.outside)
		reset(r.inside)
	} else {
		closeWrite(r.outside)
		r.endWith(done)
	}
	back.Wait()
	_ = r.outside.Close()
	_ = r.inside.Close()
	return sent, received, refused
}

// forward copies from the process, after checking what it sends first.
func (r *relay) forward() (sent int64, refused, err error) {
	var first []byte
	if r.name != "" {
		if first, refused, err = r.greeting(); refused != nil || err != nil {
			return 0, refused, err
		}
	}
	if len(first) > 0 {
		n, err := r.outside.Write(first)
		if sent = int64(n); err != nil {
			return sent, nil, err
		}
	}
	n, err := io.Copy(r.outside, r.inside)
	return sent + n, nil, err
}

// greeting reads what the process sends first. If that is TLS, its server name must be the one looked up.
func (r *relay) greeting() (first []byte, refused, err error) {
	buffer := make([]byte, 4<<10)
	n, err := r.inside.Read(buffer)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case buffer[0] != tlsHandshake:
		return buffer[:n], nil, nil
	}
	hello := helloReader{Conn: r.inside, first: bytes.NewReader(buffer[:n])}
	name, err := hello.serverName()
	if err != nil {
		return nil, err, nil
	}
	if name == "" {
		return hello.read.Bytes(), nil, nil
	}
	if ascii, err := HostName(name); err != nil || ascii != r.name {
		return nil, fmt.Errorf(namesAnother, name), nil
	}
	return hello.read.Bytes(), nil, nil
}

const namesAnother = "the TLS greeting names another host: %q"

// tlsHandshake is the type of the first TLS record.
const tlsHandshake = 0x16

// helloReader is a connection for reading only a greeting.
type helloReader struct {
	net.Conn
	first io.Reader
	read  bytes.Buffer
}

var errRead = errors.New("the greeting has been read")

// serverName reads a greeting and returns its server name.
func (h *helloReader) serverName() (name string, err error) {
	config := &tls.Config{GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
		name = info.ServerName
		return nil, errRead
	}}
	if err := tls.Server(h, config).Handshake(); !errors.Is(err, errRead) {
		return "", errors.New("the TLS greeting cannot be read")
	}
	return name, nil
}

func (h *helloReader) Read(p []byte) (int, error) {
	n, err := h.first.Read(p)
	if errors.Is(err, io.EOF) {
		n, err = h.Conn.Read(p)
	}
	h.read.Write(p[:n])
	return n, err
}

func (*helloReader) Write(p []byte) (int, error)      { return len(p), nil }
func (*helloReader) Close() error                     { return nil }
func (*helloReader) SetDeadline(time.Time) error      { return nil }
func (*helloReader) SetReadDeadline(time.Time) error  { return nil }
func (*helloReader) SetWriteDeadline(time.Time) error { return nil }

// endWith ends what still comes from outside once the process has ended: it needs no more.
func (r *relay) endWith(done <-chan struct{}) {
	go func() {
		select {
		case <-done:
		case <-r.over:
			_ = r.outside.Close()
		}
	}()
}

// endLate ends the connection some time after the process.
func (r *relay) endLate(done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-r.over:
	}
	select {
	case <-done:
	case <-time.After(lastBytes):
		_ = r.outside.Close()
		_ = r.inside.Close()
	}
}

func closeWrite(conn net.Conn) {
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}
