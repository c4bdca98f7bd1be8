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

// trying bounds the calls made here, apart from asking: a call may wait for an approval, and
// looking at that asks too.
var trying = proc.NewLimit(4)

// tryingSession is where they are recorded.
const tryingSession = "console"

// toolsetFlags choose the tools of a toolset; "" is what agent.hcl says.
func toolsetFlags(toolset string) []string {
	if toolset == "" {
		return nil
	}
	return []string{"--toolset=" + toolset}
}

// listTools serves all tools of a workspace, in a few words each.
func (s *Server) listTools(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	out, _, err := s.ask(r.Context(), found, nil, nil,
		append([]string{"list", "--json"}, toolsetFlags(r.FormValue("toolset"))...)...)
	return give(w, shownJSON(out), err)
}

// showTool serves all of a tool. Schema and examples are unchanged, since a form calls the tool
// with these names and values; the page renders them harmlessly.
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

// describe is what toolhost knows of a tool.
func (s *Server) describe(ctx context.Context, found *space, toolset, name string) ([]byte, error) {
	args := append([]string{"describe", "--json"}, toolsetFlags(toolset)...)
	out, _, err := s.ask(ctx, found, nil, nil, append(args, "--", name)...)
	return out, err
}

// trial is a call that somebody has filled in.
type trial struct {
	Space   string `json:"space"`
	Toolset string `json:"toolset"`
	Tool    string `json:"tool"`
	// Params is the object as JSON.
	Params string `json:"params"`
	// Do is check, plan or run.
	Do string `json:"do"`
}

// tried is what came of it.
type tried struct {
	// Violations are all that is wrong with the parameters.
	Violations json.RawMessage `json:"violations,omitempty"`
	Decision   json.RawMessage `json:"decision,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	// Large is the size of a result that is too large to send, in bytes, and Call its recorded
	// call, which shows it in pieces.
	Large int      `json:"large,omitempty"`
	Call  *ranCall `json:"call,omitempty"`
}

// try checks a call as the host does, and says what it would do, or makes it.
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

// violationsIn are those in toolhost's error. Their paths are unchanged, so that each is shown at its field.
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
