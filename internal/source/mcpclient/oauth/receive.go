package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Page is a page that the user must visit to consent to a login.
type Page struct {
	// Server is the MCP server's name, Host the page's host.
	Server, Host string
	// URL is the page's URL.
	URL string
	// Answer takes the URL that the page redirected to, from a user whose browser cannot reach this machine.
	// After an error it may be called again.
	Answer func(redirected string) error
}

// Visit shows the user a page, or opens it in a browser, and returns; the answer arrives separately. An error ends
// the login. The context ends with the login.
type Visit func(ctx context.Context, page Page) error

const callback = "/callback"

type answer struct{ code, iss string }

// receiver waits for the redirect, on the loopback address (RFC 8252, section 7.3).
type receiver struct {
	state    string
	listener net.Listener
	server   *http.Server
	came     chan url.Values
}

// listen opens a receiver at a port of 127.0.0.1; 0 means any.
func listen(port int, state string) (*receiver, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp4",
		net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the answer to a login cannot be received: %w", err).
			Suggest("End what uses the port, or take another redirect_port.")
	}
	r := &receiver{state: state, listener: listener, came: make(chan url.Values, 1)}
	r.server = &http.Server{
		Handler: http.HandlerFunc(r.serve), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		MaxHeaderBytes: 32 << 10,
	}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

func (r *receiver) uri() string { return "http://" + r.listener.Addr().String() + callback }

// close ends it, after the browser got its page.
func (r *receiver) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if r.server.Shutdown(ctx) != nil {
		_ = r.server.Close()
	}
}

// serve answers the browser. A request without the right state is not from the login page and is ignored.
func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Connection", "close")
	if request.Method != http.MethodGet || request.URL.Path != callback {
		http.Error(w, "There is nothing here.", http.StatusNotFound)
		return
	}
	if err := r.acceptAnswer(request.URL.Query()); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, "toolhost has the answer. Close this page; the terminal says how it went.\n")
}

func (r *receiver) paste(redirected string) error {
	u, err := url.Parse(strings.TrimSpace(redirected))
	if err != nil || u.RawQuery == "" {
		return errors.New("this is not the address that the page led to: it begins with " + r.uri() + "?")
	}
	return r.acceptAnswer(u.Query())
}

// acceptAnswer accepts the first answer to this login.
func (r *receiver) acceptAnswer(query url.Values) error {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(r.state)) != 1 {
		return errors.New("this is not the answer to the login that is under way")
	}
	select {
	case r.came <- query:
		return nil
	default:
		return errors.New("this login has its answer already")
	}
}

func (r *receiver) wait(ctx context.Context) (answer, error) {
	select {
	case query := <-r.came:
		if code := query.Get("error"); code != "" {
			return answer{}, &refusal{code, query.Get("error_description")}
		}
		if query.Get("code") == "" {
			return answer{}, errors.New("the answer has no code")
		}
		return answer{query.Get("code"), query.Get("iss")}, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}
