package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/store/record"
)

// trying bounds the calls made here. It is apart from asking: a call may wait for an approval, and
// showing that asks too.
var trying = proc.NewLimit(4)

// tryingSession is the session that records them.
const tryingSession = "console"

// toolsetFlags returns the flags that choose a toolset; "" means agent.hcl's.
func toolsetFlags(toolset string) []string {
	if toolset == "" {
		return nil
	}
	return []string{"--toolset=" + toolset}
}

func (s *Server) listTools(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	out, _, err := s.ask(r.Context(), found, nil, nil,
		append([]string{"list", "--json"}, toolsetFlags(r.FormValue("toolset"))...)...)
	return give(w, shownJSON(out), err)
}

// showTool serves a tool with all details. Schema and examples are unchanged, since a form uses their
// names and values; the page renders them harmlessly.
func (s *Server) showTool(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	out, err := s.describe(r.Context(), found, r.FormValue("toolset"), r.FormValue("tool"))
	if err != nil {
		return err
	}
	var exact struct {
		Parameters json.RawMessage `json:"parameters"`
		Examples   []struct {
			Params json.RawMessage `json:"params"`
		} `json:"examples"`
	}
	if err := json.Unmarshal(out, &exact); err != nil {
		return err
	}
	examples := []string{}
	for _, e := range exact.Examples {
		examples = append(examples, plain(e.Params))
	}
	return give(w, map[string]any{"shown": shownJSON(out), "schema": plain(exact.Parameters), "examples": examples},
		nil)
}

func (s *Server) describe(ctx context.Context, found *space, toolset, name string) ([]byte, error) {
	args := append([]string{"describe", "--json"}, toolsetFlags(toolset)...)
	out, _, err := s.ask(ctx, found, nil, nil, append(args, "--", name)...)
	return out, err
}

// trial is a call that a user filled in.
type trial struct {
	Space   string `json:"space"`
	Toolset string `json:"toolset"`
	Tool    string `json:"tool"`
	// Params is the object as JSON.
	Params string `json:"params"`
	// Do is "check", "plan" or "run".
	Do string `json:"do"`
}

// tried is the outcome of a trial.
type tried struct {
	// Violations are all problems of the parameters.
	Violations json.RawMessage `json:"violations,omitempty"`
	Decision   json.RawMessage `json:"decision,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	// Large is the size in bytes of a result too large to send, and Call its recorded call, which shows
	// it in pieces.
	Large int      `json:"large,omitempty"`
	Call  *ranCall `json:"call,omitempty"`
}

// try checks a call as the host does, and plans or makes it.
func (s *Server) try(w http.ResponseWriter, r *http.Request) error {
	var t trial
	if err := given(r, &t); err != nil {
		return err
	}
	found, err := s.spaces.find(t.Space)
	if err != nil {
		return err
	}
	args := append([]string{"--json", "--params=-"}, toolsetFlags(t.Toolset)...)
	rest := []string{"--", t.Tool}
	call := map[string][]string{"check": nil, "plan": {"call", "--dry-run"}, "run": {"call", "--later", "--session=" + tryingSession}}
	command, ok := call[t.Do]
	if !ok || strings.TrimSpace(t.Params) == "" {
		return tool.Errorf(tool.InvalidArgument,
			"this is not a call").Suggest("Say check, plan or run, and give parameters.")
	}
	out, _, err := s.ask(r.Context(), found, nil, []byte(t.Params), slices.Concat([]string{"explain"}, args, rest)...)
	if err != nil {
		if wrong := violationsIn(out); wrong != nil {
			return give(w, tried{Violations: wrong}, nil)
		}
		return err
	}
	done := tried{Decision: shownJSON(out)}
	if command != nil {
		out, _, err := s.askWithin(r.Context(), trying, found, nil, []byte(t.Params),
			slices.Concat(command, args, rest)...)
		if len(out) > mostWhole {
			done.Large = len(out)
			calls, err := callsOf(r.Context(), []*space{found}, record.Filter{Session: tryingSession, Last: 1})
			if err == nil && len(calls) == 1 {
				done.Call = &calls[0]
			}
			return give(w, done, nil)
		}
		if done.Result = shownJSON(out); done.Result == nil && err != nil {
			return err
		}
	}
	return give(w, done, nil)
}

// violationsIn returns the violations in toolhost's error, with unchanged paths, so that each is shown
// at its field.
func violationsIn(out []byte) json.RawMessage {
	var told struct {
		Error struct {
			Details struct {
				Violations []struct {
					Path    string `json:"path"`
					Message string `json:"message"`
				} `json:"violations"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(out, &told) != nil || len(told.Error.Details.Violations) == 0 {
		return nil
	}
	for i, v := range told.Error.Details.Violations {
		told.Error.Details.Violations[i].Message = shownText(v.Message)
	}
	return tool.MustMarshal(told.Error.Details.Violations)
}
