package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// rawResults keeps results as the server wrote them: the SDK's decoding loses the order of keys and the digits
// of large numbers. A request with a progress token finds its result here.
type rawResults struct {
	mu      sync.Mutex
	tokens  map[string]string // request id -> progress token
	results map[string]json.RawMessage
	long    map[string]bool // tokens whose answer was too long
	odd     func(int)       // gets the number of unreadable entries of a result
}

func newRawResults(odd func(int)) *rawResults {
	return &rawResults{odd: odd, tokens: make(map[string]string), results: make(map[string]json.RawMessage),
		long: make(map[string]bool)}
}

// kept selects the methods whose results are kept.
func kept(method string) bool { return method == "tools/call" || method == "tools/list" }

func (w *rawResults) sent(id jsonrpc.ID, method string, params json.RawMessage) {
	if !kept(method) {
		return
	}
	var p struct {
		Meta struct {
			Token any `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if token, ok := p.Meta.Token.(string); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tokens[key(id)] = token
	}
}

func key(id jsonrpc.ID) string { return fmt.Sprint(id.Raw()) }

// received notes a response, and returns the result without its unreadable parts.
func (w *rawResults) received(id jsonrpc.ID, result json.RawMessage) json.RawMessage {
	result, odd := withoutOdd(result)
	if odd > 0 {
		w.odd(odd)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if token, ok := w.tokens[key(id)]; ok && len(result) > 0 {
		w.results[token] = result
	}
	return result
}

// tooLong notes that a request's response was too long, and returns a replacement.
func (w *rawResults) tooLong(id jsonrpc.ID) *jsonrpc.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	if token, ok := w.tokens[key(id)]; ok {
		w.long[token] = true
	}
	return &jsonrpc.Response{ID: id,
		Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: errTooLong.Error()}}
}

// popResult removes and returns the result of the request with that token. large is set if it was too long.
func (w *rawResults) popResult(token string) (result json.RawMessage, large bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	result, large = w.results[token], w.long[token]
	delete(w.results, token)
	delete(w.long, token)
	for id, t := range w.tokens {
		if t == token {
			delete(w.tokens, id)
		}
	}
	return result, large
}

func (c *conn) tooLarge() *tool.Error {
	return tool.Errorf(tool.TooLarge, "the MCP server %s answered with more than %d bytes", c.server.spec.Name,
		c.server.client.options.MaxMessage).
		Suggest("Ask for less in one call.").With("server", c.server.spec.Name)
}

// maxWords and maxWord bound a server's kept output: lines, and bytes of a line.
const (
	maxWords = 12
	maxWord  = 400
)

// words are a server's last output lines.
type words struct {
	mu   sync.Mutex
	last []string
}

func (w *words) add(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, truncate.Shorten(line, maxWord))
	w.last = w.last[max(0, len(w.last)-maxWords):]
}

func (w *words) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.last...)
}
