package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

type caller interface {
	call(name, arguments string) error
	// file returns the arguments that name a file of the workspace.
	file(name string) string
}

type server interface {
	process() process
	// goroutines ends the server and returns the number of its goroutines.
	goroutines() (int, error)
	stop()
}

type running struct {
	cmd    *exec.Cmd
	dir    string
	stderr *tail
	ended  func() error
}

// tail keeps a server's stderr, and finds its URL in it.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
	url  chan string
	seen bool
}

var announced = regexp.MustCompile(`serves MCP at (http\S+)`)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p)
	if m := announced.FindSubmatch(t.text.Bytes()); m != nil && !t.seen {
		t.seen = true
		t.url <- string(m[1])
	}
	return len(p), nil
}

func launch(dir, name string, args []string, pipes func(*exec.Cmd) error) (*running, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = environment(dir)
	r := &running{cmd: cmd, dir: dir, stderr: &tail{url: make(chan string, 1)}}
	cmd.Stderr = r.stderr
	if err := pipes(cmd); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r.ended = sync.OnceValue(cmd.Wait)
	return r, nil
}

func (r *running) process() process { return process(r.cmd.Process.Pid) }

func (r *running) stop() {
	_ = r.cmd.Process.Kill()
	_ = r.ended()
}

// environment returns that of servers, with a home beside their directory.
func environment(dir string) []string {
	return append(os.Environ(), "HOME="+filepath.Join(filepath.Dir(dir), "home"), "TOOLHOST_HTTP_TOKEN=")
}

// goroutines makes the Go runtime list them, which ends the program.
func (r *running) goroutines() (int, error) {
	if err := quit(r.cmd.Process); err != nil {
		return 0, err
	}
	_ = r.ended()
	r.stderr.mu.Lock()
	defer r.stderr.mu.Unlock()
	return bytes.Count(r.stderr.text.Bytes(), []byte("\ngoroutine ")), nil
}

// stdioServer is a server on stdin and stdout with one client.
type stdioServer struct {
	*running
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

const initialize = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}`

func startStdio(dir, name string, args ...string) (*stdioServer, error) {
	s := new(stdioServer)
	r, err := launch(dir, name, args, func(cmd *exec.Cmd) (err error) {
		if s.in, err = cmd.StdinPipe(); err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		s.out = bufio.NewReaderSize(out, 1<<20)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.running = r
	if err := s.request("initialize", initialize); err != nil {
		return nil, err
	}
	_, err = io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return s, err
}

func (s *stdioServer) request(method, params string) error {
	s.id++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.id, method,
		params); err != nil {
		return err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return err
		}
		if done, err := answers(line, s.id); done {
			return err
		}
	}
}

func (s *stdioServer) call(name, arguments string) error {
	return s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

func (s *stdioServer) file(name string) string { return fileIn(s.dir, name) }

func fileIn(dir, name string) string { return fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, name)) }

// answers reports whether a message answers a request, and its error.
func answers(message []byte, id int) (bool, error) {
	var m struct {
		ID     json.RawMessage
		Error  json.RawMessage
		Result struct{ IsError bool }
	}
	if err := json.Unmarshal(message, &m); err != nil || string(m.ID) != fmt.Sprint(id) {
		return false, nil
	}
	if m.Error != nil || m.Result.IsError {
		return true, fmt.Errorf("the answer is an error: %.500s", message)
	}
	return true, nil
}

type httpServer struct {
	*running
	url    string
	client *http.Client
}

func startHTTP(dir, name string, args ...string) (*httpServer, error) {
	r, err := launch(dir, name, args, func(*exec.Cmd) error { return nil })
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: sessions}
	return &httpServer{running: r, url: <-r.stderr.url, client: &http.Client{Transport: transport}}, nil
}

// inSessions does the work in new concurrent sessions, n calls in all, and closes them.
func (h *httpServer) inSessions(many, n int, work func(caller, int) error) error {
	errs := make(chan error, many)
	for range many {
		go func() {
			s := &httpSession{server: h}
			err := s.open()
			if err == nil {
				err = work(s, n/many)
			}
			if err == nil {
				err = s.close()
			}
			errs <- err
		}()
	}
	var first error
	for range many {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	h.client.CloseIdleConnections()
	return first
}

type httpSession struct {
	server  *httpServer
	session string
	id      int
}

func (s *httpSession) do(method, body string) (*http.Response, error) {
	request, err := http.NewRequest(method, s.server.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if s.session != "" {
		request.Header.Set("Mcp-Session-Id", s.session)
		request.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	return s.server.client.Do(request)
}

func (s *httpSession) request(method, params string) error {
	s.id++
	response, err := s.do(http.MethodPost,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.id, method, params))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		s.session = id
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if done, err := answers(data, s.id); done {
				return err
			}
		}
	}
	return fmt.Errorf("%s: %s: %.300s", method, response.Status, body)
}

func (s *httpSession) open() error {
	if err := s.request("initialize", initialize); err != nil {
		return err
	}
	return s.send(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (s *httpSession) close() error { return s.send(http.MethodDelete, "") }

func (s *httpSession) send(method, body string) error {
	response, err := s.do(method, body)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (s *httpSession) call(name, arguments string) error {
	return s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

func (s *httpSession) file(name string) string { return fileIn(s.server.dir, name) }
