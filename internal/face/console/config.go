package console

import (
	"encoding/json"
	"net/http"
	"path/filepath"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// mostConfig bounds the agent.hcl shown.
const mostConfig = 1 << 20

// showConfig serves a workspace's agent.hcl, its errors, and what an approval would allow.
func (s *Server) showConfig(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	answer := map[string]any{}
	out, _, err := s.ask(r.Context(), found, nil, nil, "trust", "--show", "--json")
	var told struct {
		Digest string `json:"digest"`
	}
	if err == nil && json.Unmarshal(out, &told) == nil {
		answer["file"], answer["digest"] = shownJSON(out), told.Digest
	} else if err != nil {
		e := tool.AsError(err)
		answer["problem"] = map[string]string{"message": shownText(e.Message), "suggestion": shownText(e.Suggestion)}
		if data, err := plainfile.Read(filepath.Join(found.root, "agent.hcl"), mostConfig); err == nil {
			answer["file"] = map[string]string{"content": shownText(string(data))}
		}
	}
	out, _, _ = s.ask(r.Context(), found, nil, nil, "validate", "--json")
	answer["validated"] = shownJSON(out)
	return give(w, answer, nil)
}

// trust approves the agent.hcl that was shown, and no other: toolhost compares.
func (s *Server) trust(w http.ResponseWriter, r *http.Request) error {
	var ask struct {
		Space  string `json:"space"`
		Digest string `json:"digest"`
	}
	if err := given(r, &ask); err != nil {
		return err
	}
	found, err := s.spaces.find(ask.Space)
	if err != nil {
		return err
	}
	if ask.Digest == "" {
		return changedSince()
	}
	_, _, err = s.ask(r.Context(), found, nil, nil, "trust", "--", ask.Digest)
	return give(w, map[string]bool{"approved": true}, err)
}

// listSources serves the sources of tools, and doctor's findings.
func (s *Server) listSources(w http.ResponseWriter, r *http.Request) error {
	found, err := s.spaces.find(r.FormValue("space"))
	if err != nil {
		return err
	}
	answer := map[string]json.RawMessage{}
	for name, args := range map[string][]string{"doctor": {"doctor", "--json"}, "plugins": {"plugin", "list", "--json"},
		"servers": {"mcp", "list", "--json"}, "tools": {"list", "--json"}} {
		out, _, err := s.ask(r.Context(), found, nil, nil, args...)
		if answer[name] = shownJSON(out); answer[name] == nil && err != nil {
			return err
		}
	}
	return give(w, answer, nil)
}
