package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// stormTools log each run in a file of their session's directory, and say whose directory that is.
const stormTools = `
tool "effect" {
  description = "Log a run. Returns: the name."
  risk        = "dangerous"
  param "name" {}
  command {
    argv = ["sh", "-c", "echo \"$1\" >> effects.log && cat whose.txt; echo \"done $1\"", "sh", param.name]
  }
}
tool "long" {
  description = "Log a run, in steps. Returns: the name."
  risk        = "dangerous"
  param "name" {}
  command {
    argv = ["sh", "-c", <<-END
      for i in 1 2 3; do echo "report: progress $i/3 step" >&2; sleep 0.2; done
      echo "$1" >> effects.log && sleep 0.2
      cat whose.txt; echo "done $1"
    END
    , "sh", param.name]
    report = "report: "
  }
}
tool "asked" {
  description = "Log a run, once somebody has said a word. Returns: the name and the word."
  risk        = "dangerous"
  param "name" {}
  ask "word" {
    message = "Which word for ${param.name}?"
    field "word" {}
  }
  command {
    argv = ["sh", "-c", "echo \"$1\" >> effects.log && cat whose.txt; echo \"done $1 with $2\"", "sh", param.name,
      ask.word.word]
  }
}
tool "own" {
  description = "Log a run in a workspace of its own. Returns: all runs there."
  risk        = "dangerous"
  param "name" {}
  command { argv = ["sh", "-c", "echo \"$1\" >> own.log && cat own.log", "sh", param.name] }
}
tool "look" {
  description = "Say a word. Returns: the word."
  risk        = "read_only"
  param "name" {}
  command { argv = ["sh", "-c", "cat whose.txt; echo \"seen $1\"", "sh", param.name] }
}
policy {
  dangerous = "allow"
}
`

// The kinds of calls, as often as they occur here.
var kinds = []string{"effect", "look", "edit", "effect", "own", "asked", "look", "effect", "patch", "look", "effect",
	"edit", "effect", "look", "own", "effect", "patch", "effect", "long", "asked"}

type aCall struct {
	n         int
	kind      string
	tool      string
	arguments map[string]string
	path      string // of the workspace, with the session
	dir       string // where its effect is, "" for its own workspace
	mark      string // its effect
	whose     string // what its result must say
}

// directories, own and patched are the numbers of sessions of each kind.
func (s *storm) directories() int { return s.shape.sessions - s.own() - s.patched() }
func (s *storm) own() int         { return s.shape.sessions / 4 }
func (s *storm) patched() int     { return max(1, s.shape.sessions/8) }

func (s *storm) makeWorkspaces() {
	config := s.write("agent.hcl", stormTools)
	s.projects = filepath.Join(s.home, "projects")
	var fleetConfig strings.Builder
	for i := range s.directories() + s.patched() {
		name, more := fmt.Sprint("d", i), ""
		if i >= s.directories() {
			more = "\n toolset = \"agentbench\""
		}
		dir := filepath.Dir(s.write(filepath.Join("projects", name, "whose.txt"), name+" has this.\n"))
		s.write(filepath.Join("projects", name, "effects.log"), "")
		require.NoError(s.t, os.MkdirAll(filepath.Join(dir, "texts"), 0o755))
		fmt.Fprintf(&fleetConfig, "workspace %q {\n directory = %q\n config = %q%s\n}\n", name, dir, config, more)
	}
	fmt.Fprintf(&fleetConfig, "workspace \"own\" {\n empty = true\n config = %q\n}\n", config)
	s.write("fleet.hcl", fleetConfig.String())
}

// callOf returns the call of a number, always the same.
func (s *storm) callOf(n int) aCall {
	mark := fmt.Sprint("n", n)
	c := aCall{n: n, kind: kinds[n%len(kinds)], mark: mark, arguments: map[string]string{"name": mark}}
	c.tool = c.kind
	turn := n + n/len(kinds)
	i := turn % s.directories()
	if c.kind == "patch" {
		i = s.directories() + turn%s.patched()
	}
	name := fmt.Sprint("d", i)
	c.path, c.dir, c.whose = name+"?session=s", filepath.Join(s.projects, name), name+" has this."
	text := "texts/" + mark + ".txt"
	switch c.kind {
	case "own":
		i = turn % s.own()
		c.mark = fmt.Sprintf("o%d.n%d", i, n)
		c.path, c.dir, c.whose = fmt.Sprint("own?session=o", i), "", c.mark
		c.arguments["name"] = c.mark
	case "edit":
		c.tool, c.whose = "edit_file", mark
		c.arguments = map[string]string{"path": text, "old_str": "END", "new_str": mark + "\nEND"}
	case "patch":
		c.tool, c.whose = "apply_patch", "changed_files"
		c.arguments = map[string]string{"unified_diff": fmt.Sprintf(
			"--- a/%s\n+++ b/%s\n@@ -1 +1,2 @@\n+%s\n END\n", text, text, mark)}
	}
	return c
}

// edits reports whether the effect of a call is in its own file.
func (c aCall) edits() bool { return c.kind == "edit" || c.kind == "patch" }

func (c aCall) text() string { return filepath.Join(c.dir, "texts", fmt.Sprintf("n%d.txt", c.n)) }

type answer struct {
	text    string
	outcome string
	failed  bool
}

func (s *storm) randomOf(n int) *rand.Rand { return rand.New(rand.NewPCG(s.shape.seed, uint64(n))) }

// call makes a call, again with the same name until it has an answer, and sometimes once more.
func (s *storm) call(random *rand.Rand, n int) {
	for s.attempts(random, n, 1000) && random.IntN(4) == 0 && !s.t.Failed() {
		s.answered.Add(1)
	}
}

// attempts tries a call up to most times, until it has an answer.
func (s *storm) attempts(random *rand.Rand, n, most int) bool {
	c := s.callOf(n)
	if c.edits() {
		file, err := os.OpenFile(c.text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			_, err = file.WriteString("END\n")
			assert.NoError(s.t, err)
			_ = file.Close()
		}
	}
	for range most {
		a := s.try(random, c)
		if a == nil && s.over() || s.t.Failed() {
			return false
		}
		if a != nil {
			s.note(c, a)
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// note compares an answer with earlier ones.
func (s *storm) note(c aCall, a *answer) {
	s.answered.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	before, answered := s.results[c.n]
	if a.outcome == string(fleet.CodeLost) {
		assert.False(s.t, answered, "call %d had a result and is said to be lost: %s", c.n, a.text)
		assert.NotEqual(s.t, "look", c.kind, "call %d can be made again", c.n)
		s.lost[c.n] = true
		return
	}
	assert.False(s.t, s.lost[c.n], "call %d was lost and has a result: %s", c.n, a.text)
	if c.kind == "look" && s.failed[c.n] != "" { // it is repeated, and may succeed now
		delete(s.failed, c.n)
	} else if answered {
		assert.Equal(s.t, before, a.text, "call %d", c.n)
	}
	s.results[c.n] = a.text
	if a.failed {
		s.failed[c.n] = a.text
		return
	}
	assert.Contains(s.t, a.text, c.whose, "call %d, %s", c.n, c.kind)
	for _, line := range strings.Split(a.text, "\n") {
		if strings.HasSuffix(line, " has this.") {
			assert.Equal(s.t, c.whose, line, "call %d sees what is another's", c.n)
		}
		if session, _, ok := strings.Cut(c.mark, "."); ok {
			assert.Equal(s.t, session, strings.Split(line, ".")[0], "call %d sees what is another's", c.n)
			assert.Equal(s.t, 1, strings.Count("\n"+a.text+"\n", "\n"+line+"\n"),
				"the effect of %s, seen by call %d", line, c.n)
		}
	}
}

// try makes one attempt; nil if it must be repeated.
func (s *storm) try(random *rand.Rand, c aCall) *answer {
	more := map[string]any{}
	for range 3 {
		var asked map[string]any
		a := s.send(random, c, more, &asked)
		if a != nil || asked == nil {
			return a
		}
		more["requestState"] = asked["requestState"]
		more["inputResponses"] = map[string]any{"word": map[string]any{"action": "accept",
			"content": map[string]any{"word": fmt.Sprint("w", c.n)}}}
	}
	return nil
}

func (c aCall) message(more map[string]any) []byte {
	meta := map[string]any{"request_id": fmt.Sprint("r", c.n), "io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}}}
	if c.kind == "long" || c.n%2 == 0 { // half of the answers are streams
		meta["progressToken"] = c.n
	}
	params := map[string]any{"name": c.tool, "arguments": c.arguments, "_meta": meta}
	maps.Copy(params, more)
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.n, "method": "tools/call", "params": params})
	if err != nil {
		panic(err)
	}
	return data
}

func (s *storm) send(random *rand.Rand, c aCall, more map[string]any, asked *map[string]any) (a *answer) {
	s.mu.Lock()
	gateway := s.gateways[random.IntN(len(s.gateways))]
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/"+c.path, bytes.NewReader(c.message(more)))
	for header, value := range map[string]string{"Content-Type": "application/json", "Mcp-Method": "tools/call",
		"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Name": c.tool} {
		r.Header.Set(header, value)
	}
	began, stalled := time.Now(), s.stalled.Load()
	defer func() {
		took, stalled := time.Since(began), time.Duration(s.stalled.Load()-stalled)
		for was := s.slowest.Load(); int64(took) > was && !s.slowest.CompareAndSwap(was, int64(took)); was = s.slowest.Load() {
		}
		assert.Less(s.t, took-stalled, patience(), "call %d, of which %s nothing ran: %+v", c.n, stalled, a)
	}()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil
	}
	return s.read(c, data, asked)
}

// mayRefuse matches errors of calls that did not run, or may not have: they are repeated.
var mayRefuse = regexp.MustCompile(`not run|cannot answer|could not be opened|moving|busy|no worker|has shown no progress|` +
	`not known whether|does not belong to a question|too late|Nothing was run`)

// read reads an answer; nil if the call did not run.
func (s *storm) read(c aCall, data []byte, asked *map[string]any) *answer {
	for _, line := range bytes.Split(data, []byte("\n")) {
		if event, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = event
			s.readProgress(c, event)
		}
	}
	var message struct {
		Error  *struct{ Message string }
		Result *struct {
			IsError       bool
			ResultType    string
			RequestState  string
			InputRequests map[string]any
			Content       []struct{ Text string }
			Meta          map[string]any `json:"_meta"`
		}
	}
	if json.Unmarshal(bytes.TrimSpace(data), &message) != nil {
		return nil
	}
	if message.Error != nil {
		assert.Regexp(s.t, mayRefuse, message.Error.Message, "call %d, %s", c.n, c.kind)
		s.refuse(message.Error.Message)
		return nil
	}
	if message.Result != nil && message.Result.ResultType == "input_required" {
		assert.Contains(s.t, fmt.Sprint(message.Result.InputRequests), fmt.Sprintf("Which word for n%d?", c.n))
		*asked = map[string]any{"requestState": message.Result.RequestState}
		return nil
	}
	if message.Result == nil || len(message.Result.Content) == 0 {
		return nil
	}
	a := &answer{text: strings.TrimSpace(message.Result.Content[0].Text)}
	a.outcome, _ = message.Result.Meta[fleet.OutcomeMeta].(string)
	a.failed = message.Result.IsError || strings.Contains(a.text, `"status":"error"`)
	switch {
	case !a.failed, a.outcome == string(fleet.CodeLost):
		return a
	case s.shape.disk && !mayRefuse.MatchString(a.text):
		return a // it ran, and failed
	}
	assert.Regexp(s.t, mayRefuse, a.text, "call %d, %s", c.n, c.kind)
	s.refuse(a.text)
	return nil
}

var names = regexp.MustCompile(`"[^"]*"|[0-9a-z]*[0-9][0-9a-z.]*`)

func (s *storm) refuse(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[names.ReplaceAllString(text, "*")]++
}

func (s *storm) readProgress(c aCall, event []byte) {
	var message struct {
		Method string
		Params struct{ ProgressToken int }
	}
	if json.Unmarshal(event, &message) == nil && message.Method == "notifications/progress" {
		assert.Equal(s.t, c.n, message.Params.ProgressToken, "call %d hears of another's progress", c.n)
		s.progress.Add(1)
	}
}

func (s *storm) effects() map[string]int {
	times := make(map[string]int)
	for _, pattern := range []string{"d*/effects.log", "d*/texts/*.txt"} {
		files, err := filepath.Glob(filepath.Join(s.projects, pattern))
		require.NoError(s.t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(s.t, err)
			for _, line := range strings.Fields(string(data)) {
				if line == "END" {
					continue
				}
				times[line]++
				var n int
				_, err := fmt.Sscanf(line, "n%d", &n)
				assert.NoError(s.t, err, "%s has the line %q", file, line)
				assert.True(s.t, strings.HasPrefix(file, s.callOf(n).dir+"/"), "%s has the effect of call %d", file, n)
			}
		}
	}
	return times
}

func (s *storm) check() {
	times := s.effects()
	for name, n := range times {
		assert.Equal(s.t, 1, n, "the effect of %s", name)
	}
	count := make(map[string]int)
	for n, text := range s.results {
		c := s.callOf(n)
		count[c.kind]++
		if c.kind != "look" && c.dir != "" && s.failed[n] == "" {
			assert.Equal(s.t, 1, times[c.mark], "call %d has the result %q", n, text)
		}
	}
	assert.NotEmpty(s.t, s.results)
	s.t.Logf("%d results %v, of them errors %d; %d lost, %d effects, %d notes of progress", len(s.results), count,
		len(s.failed), len(s.lost), len(times), s.progress.Load())
	for _, text := range slices.Sorted(maps.Keys(s.refused)) {
		s.t.Logf("%d times: %.300s", s.refused[text], text)
	}
	for n, text := range s.failed {
		s.t.Logf("call %d, %s, failed: %.300s", n, s.callOf(n).kind, text)
	}
}

// mostAgain limits the results that the short form asks for again.
const mostAgain = 200

// askAgain asks for the results again after the faults.
func (s *storm) askAgain(calls int) {
	s.began, s.longest = time.Now(), waits+time.Duration(calls)*20*time.Millisecond
	var asked, again atomic.Int64
	callers := number("TOOLHOST_TEST_CALLERS", 16)
	each(callers, func(i int) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for n := i + 1; n <= calls && !s.t.Failed(); n += callers {
			s.mu.Lock()
			_, answered := s.results[n]
			known := answered || s.lost[n]
			s.mu.Unlock()
			if !known || calls <= 2000 && asked.Add(1) > mostAgain {
				continue
			}
			if s.attempts(random, n, 1000) {
				again.Add(1)
			}
		}
	})
	assert.False(s.t, s.over(), "results are not found again")
	s.t.Logf("%d results asked for again in %s", again.Load(), time.Since(s.began))
}
