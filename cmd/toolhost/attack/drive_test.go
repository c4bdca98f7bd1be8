package attack

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// patience bounds the wait for what comes soon unless something is broken.
const patience = 2 * time.Minute

// soon bounds what happens at once on an idle machine, and brief is how long a control waits for what
// does not come.
const (
	soon  = time.Minute
	brief = 2 * time.Second
)

// result is a call's result, through either face.
type result struct {
	failed  bool
	code    string
	text    string // shown text
	said    []string
	exit    int
	elapsed time.Duration
	faults  []violation
}

// env returns the program's environment: clean, but for a secret that no child may see.
func (a *arena) env(more ...string) []string {
	if chosen, _ := os.ReadFile(filepath.Join(a.ws, "agent.hcl")); a.stance.level != sandbox.Auto &&
		!bytes.Contains(chosen, []byte("level = ")) {
		more = append([]string{"TOOLHOST_SANDBOX=" + string(a.stance.level)}, more...) // a case may override it
	}
	return append(testproc.Environment(a.home, "XDG_CACHE_HOME="+a.home+"/cache", "XDG_CONFIG_HOME="+a.home+"/config",
		"TMPDIR="+a.tmp, "TOOLHOST_TRUST=1", "PLANTED="+a.secret,
		"http_proxy=http://"+a.canary.Addr().String(), "HTTP_PROXY=http://"+a.canary.Addr().String()), more...)
}

func (a *arena) program(more []string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binaries, "toolhost"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = a.ws, a.env(more...), a.stance.credential()
	return cmd
}

func (a *arena) cli(env []string, toolset, tool, params string) *result {
	a.t.Helper()
	args := []string{"call", tool, "--json", "--params", "-"}
	if toolset != "" {
		args = append(args, "--toolset", toolset)
	}
	cmd := a.program(env, args...)
	cmd.Stdin = strings.NewReader(params)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	require.NoError(a.t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	r := &result{exit: cmd.ProcessState.ExitCode(), elapsed: time.Since(began),
		said: []string{stdout.String(), stderr.String()}}
	if !timer.Stop() {
		r.faults = append(r.faults, violation{checkAlive, "the program did not end"})
	}
	r.read(toolset, stdout.Bytes())
	return r
}

// read decodes a call's one JSON object. Toolset clemini omits success, and vendors' toolsets have the
// result of a model's API, without a code.
func (r *result) read(toolset string, stdout []byte) {
	decoder := json.NewDecoder(bytes.NewReader(stdout))
	var o struct {
		Type     string          `json:"type"`
		IsError  bool            `json:"is_error"`
		Success  *bool           `json:"success"`
		Status   string          `json:"status"`
		Output   json.RawMessage `json:"output"`
		Error    json.RawMessage `json:"error"`
		Code     string          `json:"error_code"`
		Metadata struct {
			Code string `json:"error_code"`
		}
	}
	if err := decoder.Decode(&o); err != nil {
		r.faults = append(r.faults,
			violation{checkResult, fmt.Sprintf("no JSON object: %v; stderr: %s", err, r.said[1])})
		return
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		r.faults = append(r.faults, violation{checkResult, "something follows the result"})
	}
	r.text = string(o.Output)
	if o.Type != "" {
		r.failed = o.IsError || o.Status == "failed"
		return
	}
	_ = json.Unmarshal(o.Output, &r.text)
	r.failed = o.Success != nil && !*o.Success || o.Status == "error" ||
		o.Success == nil && o.Status == "" && (toolset != "clemini" || o.Error != nil)
	var e struct {
		Code      string `json:"code"`
		ErrorType string `json:"error_type"`
	}
	_ = json.Unmarshal(o.Error, &e)
	r.code = e.Code + e.ErrorType + cmp.Or(o.Code, o.Metadata.Code)
	if r.failed && r.code == "" {
		r.faults = append(r.faults, violation{checkResult, "a failure without a code"})
	}
}

type host struct {
	a      *arena
	cmd    *exec.Cmd
	in     io.WriteCloser
	events *bufio.Reader // of the record
	// session is this host's session in the record, and last the error code of its last call.
	session, last string
	nextID        int

	mu      sync.Mutex
	answers map[string][]json.RawMessage
	fresh   *sync.Cond
	noise   []string
	stdout  strings.Builder
	stderr  lockedBuffer
	done    chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a host in the arena and initializes it.
func (a *arena) serve(env []string, args ...string) *host {
	a.t.Helper()
	h := newHost(a, a.program(env, append([]string{"serve"}, args...)...))
	h.begin()
	hello := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"attacker","version":"1"}}`
	require.NotNil(a.t, h.ask("initialize", hello), "%s", h.stderr.String())
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return h
}

func newHost(a *arena, cmd *exec.Cmd) *host {
	h := &host{a: a, cmd: cmd, answers: make(map[string][]json.RawMessage), done: make(chan struct{})}
	h.fresh = sync.NewCond(&h.mu)
	return h
}

func (h *host) begin() {
	h.a.t.Helper()
	var err error
	h.in, err = h.cmd.StdinPipe()
	require.NoError(h.a.t, err)
	out, err := h.cmd.StdoutPipe()
	require.NoError(h.a.t, err)
	h.cmd.Stderr = &h.stderr
	require.NoError(h.a.t, h.cmd.Start())
	go h.listen(out)
}

func (h *host) listen(out io.Reader) {
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		h.take(line)
		if err != nil {
			break
		}
	}
	_ = h.cmd.Wait()
	close(h.done)
	h.mu.Lock()
	h.fresh.Broadcast()
	h.mu.Unlock()
}

func (h *host) take(line string) {
	if line == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.fresh.Broadcast()
	h.stdout.WriteString(line)
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		Method  string
	}
	switch err := json.Unmarshal([]byte(line), &m); {
	case err != nil || m.JSONRPC != "2.0":
		h.noise = append(h.noise, line)
	case m.Method == "":
		h.answers[string(m.ID)] = append(h.answers[string(m.ID)], json.RawMessage(line))
	}
}

func (h *host) send(line string) { _, _ = io.WriteString(h.in, line+"\n") }

func (h *host) start(method, params string) string {
	h.mu.Lock()
	h.nextID++
	id := fmt.Sprint(h.nextID)
	h.mu.Unlock()
	h.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return id
}

// wait returns the answer to a request, nil on timeout.
func (h *host) wait(id string, limit time.Duration) json.RawMessage {
	late := false
	timer := time.AfterFunc(limit, func() { h.mu.Lock(); late = true; h.fresh.Broadcast(); h.mu.Unlock() })
	defer timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.answers[id]) == 0 {
		select {
		case <-h.done:
			return nil
		default:
		}
		if late {
			return nil
		}
		h.fresh.Wait()
	}
	return h.answers[id][0]
}

func (h *host) ask(method, params string) json.RawMessage {
	return h.wait(h.start(method, params), patience)
}

// call calls a tool. The code is from the record.
func (h *host) call(tool, params string) *result {
	h.a.t.Helper()
	began := time.Now()
	id := h.startCall(tool, params)
	return h.finish(id, began)
}

func (h *host) startCall(tool, params string) string {
	name, _ := json.Marshal(tool)
	return h.start("tools/call", `{"name":`+string(name)+`,"arguments":`+params+`}`)
}

func (h *host) finish(id string, began time.Time) *result {
	answer := h.wait(id, patience)
	r := &result{elapsed: time.Since(began), said: []string{string(answer)}}
	if answer == nil {
		r.faults = append(r.faults, violation{checkResult, "no answer"})
		return r
	}
	var m struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(answer, &m); err != nil || (m.Result == nil) == (m.Error == nil) {
		r.faults = append(r.faults, violation{checkResult, "not a well-formed answer: " + string(answer)})
		return r
	}
	if m.Error != nil {
		r.failed, r.code, r.text = true, fmt.Sprint(m.Error.Code), m.Error.Message
		return r
	}
	r.failed = m.Result.IsError
	for _, c := range m.Result.Content {
		r.text += c.Text
	}
	r.code = h.lastCode()
	if r.failed == (r.code == "") {
		r.faults = append(r.faults,
			violation{checkResult, fmt.Sprintf("failed is %v and the record says %q", r.failed, r.code)})
	}
	return r
}

func (a *arena) recorded() []string {
	files, _ := filepath.Glob(filepath.Join(a.home, ".local/state/toolhost/*/record/*.jsonl"))
	return files
}

// lastCode returns the error code of the last recorded call.
func (h *host) lastCode() string {
	h.a.t.Helper()
	if h.events == nil {
		counts, _ := filepath.Glob(filepath.Join(h.a.home, ".local/state/toolhost/*/record/steps/mcp-*"))
		require.NotEmpty(h.a.t, counts)
		h.session = filepath.Base(slices.MaxFunc(counts, byTime)) // of this host, not an earlier one
		files := h.a.recorded()
		require.Len(h.a.t, files, 1)
		f, err := os.Open(files[0])
		require.NoError(h.a.t, err)
		h.a.t.Cleanup(func() { f.Close() })
		h.events = bufio.NewReader(f)
	}
	for {
		line, err := h.events.ReadBytes('\n')
		if err != nil {
			return h.last
		}
		var e struct {
			Session, Event string
			Body           struct{ Error string }
		}
		if json.Unmarshal(line, &e) == nil && e.Event == "tool_call_finished" && e.Session == h.session {
			h.last = e.Body.Error
		}
	}
}

func byTime(a, b string) int {
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	if errA != nil || errB != nil {
		return 0
	}
	return first.ModTime().Compare(second.ModTime())
}

// inspect makes all checks while the host runs.
func (h *host) inspect(r *result) []violation {
	found := append(r.faults, h.a.inspect(append(r.said, h.stderr.String())...)...)
	began := time.Now()
	if h.wait(h.start("ping", "{}"), h.a.soon) == nil {
		found = append(found, violation{checkAlive, fmt.Sprintf("no pong in %s", time.Since(began))})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, list := range h.answers {
		if len(list) > 1 {
			found = append(found, violation{checkResult, fmt.Sprintf("%d answers to request %s", len(list), id)})
		}
	}
	for _, line := range h.noise {
		found = append(found, violation{checkResult, "no protocol on stdout: " + line})
	}
	return found
}

// stop ends the host and returns what it left.
func (h *host) stop() []violation {
	_ = h.in.Close()
	var found []violation
	select {
	case <-h.done:
	case <-time.After(patience):
		_ = h.cmd.Process.Kill()
		testproc.Receive(h.a.t, h.done, "the end of the host")
		found = append(found, violation{checkAlive, "the host did not end after its input had"})
	}
	return append(append(found, h.a.inspect(h.stdout.String(), h.stderr.String())...), h.a.ended()...)
}
