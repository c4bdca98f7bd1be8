package mcpserve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// Bounds of ListenAndServe.
const (
	maxConnections = 1024
	maxHeader      = 32 << 10
	headerTime     = 5 * time.Second
	idleTime       = 2 * time.Minute
	lastRequests   = time.Second
)

// ListenAndServe serves MCP at /mcp and /mcp/TOOLSET, and /healthz, until ctx ends; then it closes h,
// waits briefly for open requests, and returns nil. With a tls.Config it speaks TLS.
func (h *HTTP) ListenAndServe(ctx context.Context, listener net.Listener, secure *tls.Config) error {
	connections := &connections{max: maxConnections, open: make(map[net.Conn]*connection)}
	server := &http.Server{
		Handler: connections.serving(h.routes()), TLSConfig: secure,
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnState: connections.forgetClosed, ConnContext: connections.context,
		WriteTimeout: h.options.Patience, // of an answer's beginning; patientWriter extends it piece by piece
		ErrorLog:     slog.NewLogLogger(h.options.Logger.Handler(), slog.LevelDebug),
		Protocols:    new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true) // no HTTP/2: a deadline ends its streams, silent or not
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRequests)
		defer cancel()
		h.close()
		_ = server.Shutdown(ending)
		_ = server.Close()
		h.Close()
	})
	var err error
	if secure != nil {
		err = server.ServeTLS(listener, "", "")
	} else {
		err = server.Serve(listener)
	}
	if stop() { // it ended by itself
		h.Close()
		return err
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (h *HTTP) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.Handle("/mcp/{toolset}", h)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		no := h.guard.checkHost(r)
		if no == nil {
			no = refuse(http.StatusNotFound, "there is nothing at "+r.URL.Path, "MCP is at /mcp.")
		}
		no.write(w)
	})
	h.serveText(mux, "GET /healthz", func(w io.Writer) error {
		_, err := io.WriteString(w, "ok\n")
		return err
	})
	if backend := h.options.Backend; backend != nil {
		for _, path := range []string{"", "/mcp", "/mcp/{toolset}"} {
			mux.HandleFunc(MetadataPath+path, h.metadata)
		}
		h.serveText(mux, "GET /readyz", func(w io.Writer) error {
			if err := backend.Ready(); err != nil {
				return err
			}
			_, err := io.WriteString(w, "ready\n")
			return err
		})
		h.serveText(mux, "GET /metrics", func(w io.Writer) error {
			backend.WriteMetrics(w)
			return nil
		})
	}
	return mux
}

// MetadataPath is where a server names its authorization server; the path of the protected resource
// follows.
const MetadataPath = "/.well-known/oauth-protected-resource"

func (h *HTTP) metadata(w http.ResponseWriter, r *http.Request) {
	no := h.guard.checkHost(r)
	if no == nil {
		if m := h.options.Backend.Metadata(r.PathValue("toolset")); m != nil {
			auth.ProtectedResourceMetadataHandler(m).ServeHTTP(w, r)
			return
		}
		no = refuse(http.StatusNotFound, "there is no authorization server for this one",
			"Ask its operator for a token.")
	}
	no.write(w)
}

// serveText serves a text about the server without a token: monitoring has none.
func (h *HTTP) serveText(mux *http.ServeMux, pattern string, write func(io.Writer) error) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if no := h.guard.checkHost(r); no != nil {
			no.write(w)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := write(w); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}

// connections bounds the open connections. Beyond the bound the one idle longest is closed, so that
// silent ones cannot keep others out.
type connections struct {
	max int

	mu   sync.Mutex
	open map[net.Conn]*connection
}

type connection struct {
	since   time.Time // of the last change
	serving int       // requests in their handler
}

type connectionKey struct{}

// context stores a new connection for serving.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := &connection{since: time.Now()}
	c.open[conn] = entry
	if len(c.open) > c.max {
		c.evict()
	}
	return context.WithValue(ctx, connectionKey{}, entry)
}

// evict closes the connection idle longest, which is the newest if all others are serving.
func (c *connections) evict() {
	var oldest net.Conn
	for conn, entry := range c.open {
		if entry.serving == 0 && (oldest == nil || entry.since.Before(c.open[oldest].since)) {
			oldest = conn
		}
	}
	if oldest != nil {
		delete(c.open, oldest)
		_ = oldest.Close()
	}
}

func (c *connections) forgetClosed(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, conn)
	}
}

// serving counts each connection's requests.
func (c *connections) serving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if entry, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.count(entry, 1)
			defer c.count(entry, -1)
		}
		next.ServeHTTP(w, r)
	})
}

func (c *connections) count(entry *connection, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry.serving += by
	entry.since = time.Now()
}
