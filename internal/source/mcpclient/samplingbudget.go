package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

// What a server may ask of a language model. The model is the operator's, who
// pays for it, and nobody is asked before each request.
const (
	maxSamplesPerCall = 8
	maxSamplesPerDay  = 200
	maxSampleTokens   = 8192
)

// samplingBudget counts what a server has asked of models today, in all processes
// where there is a place to keep it.
type samplingBudget struct {
	mu   sync.Mutex
	last spending
}

// spending is what is kept of it.
type spending struct {
	Day   string `json:"day"`
	Count int    `json:"count"`
}

// maySample counts one request of a call, unless that would be too many.
func (s *server) maySample(f *pendingCall) error {
	f.mu.Lock()
	f.samples++
	ofCall := f.samples
	f.mu.Unlock()
	if ofCall > maxSamplesPerCall {
		return s.refuseSample(fmt.Sprintf("a server may ask a model %d times in a call", maxSamplesPerCall))
	}
	s.spent.mu.Lock()
	defer s.spent.mu.Unlock()
	file, today := s.samplesFile(), s.client.now().UTC().Format(time.DateOnly)
	spent := s.spent.last
	if data, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(data, &spent)
	}
	if spent.Day != today {
		spent = spending{Day: today}
	}
	if s.spent.last.Day == today {
		spent.Count = max(spent.Count, s.spent.last.Count)
	}
	if spent.Count >= maxSamplesPerDay {
		return s.refuseSample(fmt.Sprintf("a server may ask a model %d times a day", maxSamplesPerDay))
	}
	spent.Count++
	s.spent.last = spent
	if file != "" {
		_ = atomicfile.WriteCache(file, tool.MustMarshal(spent)) // in memory it is counted all the same
	}
	return nil
}

// samplesFile is where the count is kept, for the server of that name in that
// workspace; "" for nowhere.
func (s *server) samplesFile() string {
	if s.client.cache.dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s.client.options.Dir + "\x00" + s.spec.Name))
	return filepath.Join(s.client.cache.dir, "samples-"+hex.EncodeToString(sum[:12])+".json")
}

func (s *server) refuseSample(why string) error {
	s.client.logger.Warn("an MCP server's request to a language model was refused", "server", s.spec.Name, "reason",
		why)
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the model was not asked: " + why}
}
