package console

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/store/sources"
)

type namedSource struct {
	Space string `json:"space"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// in returns the source's workspace and kind. Other kinds are refused.
func (n namedSource) in(s *Server) (*space, sources.Kind, error) {
	found, err := s.spaces.find(n.Space)
	kind := sources.Kind(n.Kind)
	if err == nil && (kind != sources.Plugin && kind != sources.Server || n.Name == "" ||
		strings.ContainsRune(n.Name, 0)) {
		err = tool.Errorf(tool.InvalidArgument, "there is no such source").Suggest("Reload the page.")
	}
	return found, kind, err
}

func (s *Server) showSaid(w http.ResponseWriter, r *http.Request) error {
	found, kind, err := namedSource{r.FormValue("space"), r.FormValue("kind"), r.FormValue("name")}.in(s)
	if err != nil {
		return err
	}
	said, err := sources.Kept{State: found.dir}.LastSaid(kind, r.FormValue("name"))
	return give(w, map[string]string{"said": show.Text(said)}, err)
}

func (s *Server) restart(w http.ResponseWriter, r *http.Request) error {
	var ask namedSource
	if err := given(r, &ask); err != nil {
		return err
	}
	found, kind, err := ask.in(s)
	if err != nil {
		return err
	}
	_, _, err = s.ask(r.Context(), found, nil, nil, string(kind), "restart", "--", ask.Name)
	return give(w, map[string]bool{"asked": true}, err)
}

// login is a login begun in the page.
type login struct {
	mu      sync.Mutex
	address string // where to log in
	done    bool
	failed  error
}

// logins are this console's logins, the last of each server.
type logins struct {
	mu  sync.Mutex
	all map[namedSource]*login
}

// loginTime bounds a login; the command itself waits for five minutes.
const loginTime = 6 * time.Minute

// logging bounds concurrent logins.
var logging = proc.NewLimit(4)

// begin returns a new login of a server; nil while one goes on.
func (l *logins) begin(of namedSource) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.all[of]; now != nil {
		now.mu.Lock()
		defer now.mu.Unlock()
		if !now.done {
			return nil
		}
	}
	if l.all == nil {
		l.all = make(map[namedSource]*login)
	}
	l.all[of] = new(login)
	return l.all[of]
}

// beginLogin runs toolhost mcp login; showLogin shows its progress.
func (s *Server) beginLogin(w http.ResponseWriter, r *http.Request) error {
	var ask namedSource
	if err := given(r, &ask); err != nil {
		return err
	}
	found, kind, err := ask.in(s)
	if err == nil && kind != sources.Server {
		err = tool.Errorf(tool.InvalidArgument, "a plugin has no login").Suggest("Reload the page.")
	}
	if err != nil {
		return err
	}
	if l := s.logins.begin(ask); l != nil {
		go s.logIn(l, found, ask.Name)
	}
	return give(w, map[string]bool{"begun": true}, nil)
}

// logIn logs in. It ends with the console.
func (s *Server) logIn(l *login, found *space, name string) {
	ctx, stop := context.WithTimeout(context.Background(), loginTime)
	defer stop()
	go func() {
		select {
		case <-s.closing:
			stop()
		case <-ctx.Done():
		}
	}()
	var said strings.Builder // standard error, written by one goroutine
	heard := func(stream, line string) {
		line = strings.TrimSpace(line)
		if stream != "stderr" {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case strings.HasPrefix(line, "https://"), strings.HasPrefix(line, "http://"):
			l.address, line = line, ""
		case l.address != "" && said.Len() < mostLine:
			said.WriteString(line + "\n")
		}
	}
	result, err := proc.Run(ctx, proc.Command{OnLine: heard, Env: os.Environ(), Dir: found.root, Limit: logging,
		Argv: []string{s.options.Toolhost, "--color", "never", "mcp", "login", "--no-browser", "--", name}})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	switch {
	case err != nil:
		l.failed = err
	case result.ExitCode != 0 && l.address == "":
		l.failed = toldError(nil, result.Stderr.String(), "mcp login")
	case result.ExitCode != 0:
		l.failed = toldError(nil, said.String(), "mcp login")
	}
}

// showLogin serves where to log in, and the outcome.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) error {
	of := namedSource{r.FormValue("space"), r.FormValue("kind"), r.FormValue("name")}
	if _, _, err := of.in(s); err != nil {
		return err
	}
	s.logins.mu.Lock()
	l := s.logins.all[of]
	s.logins.mu.Unlock()
	if l == nil {
		return give(w, map[string]bool{"none": true}, nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	return give(w, map[string]any{"address": show.Page.Line(l.address), "done": l.done}, nil)
}
