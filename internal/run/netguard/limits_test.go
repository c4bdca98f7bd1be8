package netguard_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// bomb is a gzip file of the given number of zero bytes.
func bomb(t *testing.T, size int64) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.CopyN(w, zeros{}, size)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestGzipBombEndsAtTheCap(t *testing.T) {
	testneed.NotShort(t, "reads much that was packed")
	data := bomb(t, 256<<20)
	require.Less(t, len(data), 1<<20)
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(data)
	})
	request := netguard.Request{URL: server.URL, MaxBytes: 1 << 20}
	_, err := local(t).Fetch(t.Context(), request)
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))

	request.Truncate = true
	r, err := local(t).Fetch(t.Context(), request)
	require.NoError(t, err)
	assert.True(t, r.Truncated)
	assert.Len(t, r.Body, 1<<20)
}

func TestCap(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chunked" {
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, strings.Repeat("x", 100))
	})
	for _, path := range []string{"/", "/chunked"} {
		for limit, truncated := range map[int64]bool{99: true, 100: false, 101: false} {
			request := netguard.Request{URL: server.URL + path, MaxBytes: limit}
			_, err := local(t).Fetch(t.Context(), request)
			assert.Equal(t, truncated, tool.CodeOf(err) == tool.TooLarge, "%s %d: %v", path, limit, err)

			request.Truncate = true
			r, err := local(t).Fetch(t.Context(), request)
			require.NoError(t, err)
			assert.Equal(t, truncated, r.Truncated)
			assert.Len(t, r.Body, int(min(limit, 100)))
		}
	}
}

func TestEndlessBody(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, zeros{}) })
	_, err := local(t).Fetch(t.Context(), netguard.Request{URL: server.URL, MaxBytes: 1 << 20})
	assert.Equal(t, tool.TooLarge, tool.CodeOf(err))
}

// hang answers with what begin writes and then sends nothing until the client has gone.
func hang(t *testing.T, begin func(http.ResponseWriter)) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		begin(w)
		<-r.Context().Done()
	}).URL
}

func TestTimeouts(t *testing.T) {
	silent := hang(t, func(http.ResponseWriter) {})
	stuck := hang(t, func(w http.ResponseWriter) {
		fmt.Fprint(w, "begin")
		w.(http.Flusher).Flush()
	})
	dripping := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, "x")
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}).URL
	const soon, late = 100 * time.Millisecond, time.Minute
	for _, c := range []struct {
		name, url, says string
		opts            netguard.Options
	}{
		{"header", silent, "did not answer in time", netguard.Options{HeaderTimeout: soon, Timeout: late}},
		{"overall before the header", silent, "within 100ms", netguard.Options{HeaderTimeout: late, Timeout: soon}},
		{"idle", stuck, "stopped sending", netguard.Options{IdleTimeout: soon, Timeout: late}},
		{"overall", dripping, "within 100ms", netguard.Options{Timeout: soon}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Allow = []string{"127.0.0.1"}
			start := time.Now()
			_, err := fetch(t, newClient(t, c.opts), c.url)
			assert.Equal(t, tool.Timeout, tool.CodeOf(err), "%v", err)
			assert.ErrorContains(t, err, c.says)
			assert.Less(t, time.Since(start), late/2)
		})
	}
}

func TestRequestTimeoutBeatsTheClients(t *testing.T) {
	silent := hang(t, func(http.ResponseWriter) {})
	_, err := local(t).Fetch(t.Context(), netguard.Request{URL: silent, Timeout: 50 * time.Millisecond})
	assert.Equal(t, tool.Timeout, tool.CodeOf(err))
}

func TestCallersContext(t *testing.T) {
	silent := hang(t, func(http.ResponseWriter) {})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := local(t).Fetch(ctx, netguard.Request{URL: silent})
	assert.Equal(t, tool.Cancelled, tool.CodeOf(err))
	assert.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = local(t).Fetch(ctx, netguard.Request{URL: silent})
	assert.Equal(t, tool.Timeout, tool.CodeOf(err))
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	address := c.LocalAddr().String() // without a listener, and taken by c
	_, err = fetch(t, local(t), "http://"+address)
	require.Error(t, err)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.Contains(t, tool.AsError(err).Details["reason"], "refused")
}

func TestBrokenAnswers(t *testing.T) {
	raw := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, answer)
				conn.Close()
			}
		}()
		return "http://" + l.Addr().String()
	}
	for name, answer := range map[string]string{
		"nothing":        "",
		"no HTTP":        "220 mail.example ESMTP\r\n",
		"cut off":        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
		"bad gzip":       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
		"endless header": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
	} {
		_, err := fetch(t, local(t), raw(answer))
		require.Error(t, err, name)
		assert.Equal(t, tool.Unavailable, tool.CodeOf(err), "%s: %v", name, err)
	}
	_, err := fetch(t, local(t), raw("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx"))
	assert.Equal(t, tool.Unsupported, tool.CodeOf(err))
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, r.Proto)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	_, err := fetch(t, local(t), server.URL)
	assert.Equal(t, tool.Unavailable, tool.CodeOf(err))
	assert.ErrorContains(t, err, "certificate is not trusted")

	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	c := newClient(t, netguard.Options{Allow: []string{"127.0.0.1"}, TLS: &tls.Config{RootCAs: pool}})
	r, err := fetch(t, c, server.URL)
	require.NoError(t, err)
	assert.Equal(t, "HTTP/2.0", string(r.Body))
}

func TestCheckEndsBeforeTheBody(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, zeros{})
	})
	refused := errors.New("no tea")
	var status int
	_, err := local(t).Fetch(t.Context(), netguard.Request{URL: server.URL, Check: func(r *netguard.Response) error {
		status = r.StatusCode
		return refused
	}})
	assert.Same(t, refused, err)
	assert.Equal(t, http.StatusTeapot, status)
}

func TestTextOfATruncatedBody(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ab€") })
	r, err := local(t).Fetch(t.Context(), netguard.Request{URL: server.URL, MaxBytes: 4, Truncate: true})
	require.NoError(t, err)
	assert.Equal(t, "ab", r.Text())
}

func TestMediaType(t *testing.T) {
	for header, want := range map[string]string{
		"text/HTML; charset=x": "text/html", "text/html;;": "text/html", "application/json": "application/json",
		"": "text/plain", "nonsense": "nonsense",
	} {
		r := &netguard.Response{Header: http.Header{}, Body: []byte("hello")}
		if header != "" {
			r.Header.Set("Content-Type", header)
		}
		assert.Equal(t, want, r.MediaType(), header)
	}
}
