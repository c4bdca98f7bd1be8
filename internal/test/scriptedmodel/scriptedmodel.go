// Package scriptedmodel replaces a language model: it speaks the APIs that coding
// agents use, and plays a script of tool calls. It drives a real client through its
// MCP server to the end, without a network, and tests can check what reached the
// model.
//
// # The APIs
//
// Anthropic messages (/v1/messages), OpenAI responses (/v1/responses), OpenAI chat
// completions (/v1/chat/completions) and Gemini (/v1beta/models/NAME:generateContent
// and :streamGenerateContent), streamed or whole as requested, and the model lists and
// token counts that clients also request.
//
// # The script
//
//	{"server": "toolhost", "steps": [
//	  {"tool": "head", "arguments": {"args": "-n 1 notes.txt"}, "result": "first line"},
//	  {"tool": "delete_file", "arguments": {"path": "old.txt"}},
//	  {"say": "All done."}
//	]}
//
// A step calls a tool, or says something, which ends the client's turn; after the last
// step the model says "The script is over.". Tools have their server's names. The
// client's name, such as mcp__toolhost__head, is found among the tools that the client
// offers: by its suffix, preferably with the server's name in it. Tools that a client
// hides behind a search (Claude Code, Qwen Code) are searched for first. The client's
// result of the call must contain result.
//
// The conversation that the client sends determines the next step, so a repeated
// request gets the same answer, and a new session starts the script again. A request
// without tools, for a title or a summary, is answered with a word and is not part of
// the script.
//
// # As a program
//
//	go run ./internal/test/scriptedmodel/play -script script.json -log log.jsonl -- \
//	    env ANTHROPIC_BASE_URL={URL} ANTHROPIC_API_KEY=x claude -p 'Play the script.'
//
// serves on a free loopback port, replaces {URL} in the command's arguments by its
// address, also in SCRIPTEDMODEL_URL, runs the command without input, ends every
// process that it leaves, and exits with 0 only if the command did, the script was
// played and every result was as expected. Without a command it prints its address,
// serves until SIGTERM or SIGINT (-address fixes the port), and judges then. The log
// has one JSON object per line, see [Record]. -requests DIR keeps each request.
//
// # In a test
//
//	model := scriptedmodel.New(script)
//	server := httptest.NewServer(model)
//	// start the client with the address of server
//	require.NoError(t, model.Check())
package scriptedmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Script is what a model plays.
type Script struct {
	// Server is the client's name of the MCP server.
	Server string `json:"server"`
	Steps  []Step `json:"steps"`
}

// Step is a step of a script: a tool call, or a text.
type Step struct {
	// Tool is the server's name of the tool.
	Tool string `json:"tool,omitempty"`
	// Arguments are the call's arguments; empty means an empty object.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result must be contained in the call's result.
	Result string `json:"result,omitempty"`
	// Say is said instead of a call, and ends the turn.
	Say string `json:"say,omitempty"`
}

// Parse parses a script.
func Parse(text []byte) (*Script, error) {
	script := &Script{Server: "toolhost"}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(script); err != nil {
		return nil, fmt.Errorf("the script cannot be read: %w", err)
	}
	for i, step := range script.Steps {
		if (step.Tool == "") == (step.Say == "") {
			return nil, fmt.Errorf("step %d of the script needs a tool to call or something to say", i)
		}
	}
	if len(script.Steps) == 0 {
		return nil, errors.New("the script has no steps")
	}
	return script, nil
}

// Record is an event of the log.
type Record struct {
	// Event is tools (what the client offers, once for each list), search or call
	// (what the model requested), result (what came back), say, missing (no tool
	// fits the step) or unknown (a request of an unknown API).
	Event string `json:"event"`
	// API is messages, responses, chat or gemini.
	API string `json:"api,omitempty"`
	// Step counts the script's steps from 0.
	Step int `json:"step"`
	// Tool is the client's name of a tool, Tools are all that it offers.
	Tool  string   `json:"tool,omitempty"`
	Tools []string `json:"tools,omitempty"`
	// Arguments are those of a call.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Text is what was said or came back. Failed is set if the client reports a
	// failed call, as far as its API can.
	Text   string `json:"text,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// Model is the replacement model, an HTTP handler.
type Model struct {
	// Log gets every record as a line of JSON, Requests every request's body.
	// Both may be nil; set them before the first request.
	Log      io.Writer
	Requests func(number int, api string, body []byte)

	script *Script

	mu       sync.Mutex
	requests int
	records  []Record
	offered  string // the last recorded list
}

// New returns a model that plays script.
func New(script *Script) *Model { return &Model{script: script} }

// Records returns the events so far.
func (m *Model) Records() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.records)
}

// Check returns an error that says which calls of the script were not made, or
// had an unexpected result.
func (m *Model) Check() error {
	records := m.Records()
	var faults []error
	for i, step := range m.script.Steps {
		if step.Tool != "" {
			faults = append(faults, step.check(i, records))
		}
	}
	return errors.Join(faults...)
}

func (s Step) check(number int, records []Record) error {
	var last *Record
	var missing string
	for i, r := range records {
		switch {
		case r.Step != number:
		case r.Event == "result":
			last = &records[i]
		case r.Event == "missing":
			missing = ": the client offered " + strings.Join(r.Tools, ", ")
		}
	}
	switch {
	case last == nil:
		return fmt.Errorf("step %d: no result of %s reached the model%s", number, s.Tool, missing)
	case !strings.Contains(last.Text, s.Result):
		return fmt.Errorf("step %d: the result of %s has no %q:\n%s", number, s.Tool, s.Result, last.Text)
	}
	return nil
}

// record records an event once: clients send the whole conversation each time.
func (m *Model) record(r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(other Record) bool {
		return other.Event == r.Event && other.Step == r.Step && other.Tool == r.Tool && other.Text == r.Text
	}
	switch r.Event {
	case "tools":
		list := strings.Join(r.Tools, " ")
		if list == m.offered {
			return
		}
		m.offered = list
	case "result":
		if slices.ContainsFunc(m.records, same) {
			return
		}
	}
	m.records = append(m.records, r)
	if m.Log != nil {
		line, _ := json.Marshal(r)
		_, _ = m.Log.Write(append(line, '\n'))
	}
}

// ServeHTTP answers a request of any API.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	api, ok := apiOf(r.URL.Path)
	if !ok {
		m.other(w, r)
		return
	}
	m.mu.Lock()
	m.requests++
	number := m.requests
	m.mu.Unlock()
	if m.Requests != nil {
		m.Requests(number, api.name, body)
	}
	request, err := api.read(body)
	if err != nil {
		http.Error(w, `{"error":{"type":"invalid_request_error","message":`+quote(err.Error())+`}}`,
			http.StatusBadRequest)
		return
	}
	request.api, request.number, request.body = api.name, number, body
	request.stream = request.stream || strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	api.write(&answer{w: w, request: request, reply: m.next(request)})
}

func (m *Model) other(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":100}`)
	case strings.HasSuffix(path, ":countTokens"):
		fmt.Fprint(w, `{"totalTokens":100}`)
	case strings.HasSuffix(path, "/models"):
		fmt.Fprint(w, `{"object":"list","data":[{"id":"scripted","object":"model","created":1,"owned_by":"script"}]}`)
	case path == "/":
	default:
		m.record(Record{Event: "unknown", Step: -1, Text: r.Method + " " + path})
		http.Error(w, `{"error":{"type":"not_found_error","message":"the scripted model does not know this path"}}`,
			http.StatusNotFound)
	}
}
