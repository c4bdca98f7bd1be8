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

// Limits of a server's requests to a language model. The operator pays for it, and is not asked before each
// request.
const (
	maxSamplesPerCall = 8
	maxSamplesPerDay  = 200
	maxSampleTokens   = 8192
)

// samplingBudget counts a server's requests to models today, in all processes if it can be stored.
type samplingBudget struct {
	mu   sync.Mutex
	last spending
}

type spending struct {
	Day   string `json:"day"`
	Count int    `json:"count"`
}

// maySample counts a request of a call, unless that exceeds the limits.
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
		_ = atomicfile.WriteCache(file, tool.MustMarshal(spent)) // on failure it is still counted in memory
	}
	return nil
}

// samplesFile returns the file of the count for the server in that workspace; "" if it is not stored.
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
