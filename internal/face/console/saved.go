package console

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// Bounds of a workspace's saved calls.
const (
	mostSaved     = 200
	mostSavedCall = 64 << 10
)

type savedCall struct {
	Toolset string `json:"toolset"`
	Tool    string `json:"tool"`
	Name    string `json:"name"`
	// Params is the object as JSON; "" deletes the call.
	Params string `json:"params"`
}

func (c savedCall) sameAs(o savedCall) bool {
	return c.Toolset == o.Toolset && c.Tool == o.Tool && c.Name == o.Name
}

// saving is held while the file is replaced.
var saving sync.Mutex

// saved returns a workspace's saved calls, from a state file that no tool can write.
func (s *space) saved() (calls []savedCall, err error) {
	data, err := plainfile.Read(s.savedFile(), mostSaved*2*mostSavedCall)
	if errors.Is(err, fs.ErrNotExist) {
		return []savedCall{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &calls)
	}
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the saved calls cannot be read: %w", err).
			Suggest("Remove %s.", s.savedFile())
	}
	return calls, nil
}

// withoutSecrets replaces parameters that the schema marks as writeOnly by null, to be filled in at
// each call.
func withoutSecrets(described []byte, params string) (string, error) {
	var def struct {
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(described, &def); err != nil {
		return "", err
	}
	secrets := schema.SecretsOf(def.Parameters)
	if secrets == nil {
		return params, nil
	}
	clean, err := secrets.Hide(json.RawMessage(params), func(any) any { return nil })
	return string(clean), err
}

func (s *space) savedFile() string { return filepath.Join(s.dir, "console-calls.json") }

func (s *Server) listSaved(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	calls, err := found.saved()
	if err != nil {
		return err
	}
	calls = slices.DeleteFunc(calls, func(c savedCall) bool {
		return c.Toolset != r.FormValue("toolset") || c.Tool != r.FormValue("tool")
	})
	return give(w, calls, nil)
}

func (s *Server) save(w http.ResponseWriter, r *http.Request) error {
	var ask struct {
		savedCall
		Space string `json:"space"`
	}
	if err := given(r, &ask); err != nil {
		return err
	}
	found, err := s.spaces.find(ask.Space)
	if err != nil {
		return err
	}
	call := ask.savedCall
	if call.Name == "" || len(call.Name)+len(call.Tool)+len(call.Toolset)+len(call.Params) > mostSavedCall ||
		call.Params != "" && !json.Valid([]byte(call.Params)) {
		return tool.Errorf(tool.InvalidArgument, "this call cannot be saved").
			Suggest("Give it a name, and at most %d bytes of parameters.", mostSavedCall)
	}
	if call.Params != "" {
		out, err := s.describe(r.Context(), found, call.Toolset, call.Tool)
		if err != nil {
			return err
		}
		if call.Params, err = withoutSecrets(out, call.Params); err != nil {
			return err
		}
	}
	saving.Lock()
	defer saving.Unlock()
	calls, err := found.saved()
	if err != nil {
		return err
	}
	calls = slices.DeleteFunc(calls, call.sameAs)
	if call.Params != "" {
		calls = append(calls, call)
	}
	if len(calls) > mostSaved {
		return tool.Errorf(tool.Unavailable, "%d calls are saved already", mostSaved).Suggest("Forget some.")
	}
	if err := atomicfile.Write(found.savedFile(), tool.MustMarshal(calls), 0o600); err != nil {
		return err
	}
	return give(w, map[string]bool{"saved": true}, nil)
}
