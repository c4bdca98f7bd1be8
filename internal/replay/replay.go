// Package replay runs a recorded session again, on a copy of the workspace as it
// was when the session began, and compares what comes of it; and it answers
// calls from the record.
package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/effects"
	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/trajectory"
)

// Recording is a session as the record and the undo store have it.
type Recording struct {
	Session string
	Root    string // of the workspace that it was recorded in
	Calls   []*trajectory.Call
	left    map[string][]undo.Left // by call
	brought map[string][]brought   // by call
	start   tree                   // where the recording is from a file
	umask   fs.FileMode            // under which it was recorded, as far as that is known
	// Doubts say what may make a replay differ though nothing is wrong.
	Doubts []string
}

// Read reads a session, and says why it cannot be replayed where that is seen
// already.
func Read(ctx context.Context, r *record.Recorder, u *undo.Store, session, root string) (*Recording, error) {
	rec, err := ReadAnswers(ctx, r, session)
	if err != nil {
		return nil, err
	}
	rec.Root, rec.left, rec.brought = root, make(map[string][]undo.Left), make(map[string][]brought)
	left, err := u.Left(ctx, session)
	if err != nil {
		return nil, err
	}
	for _, l := range left {
		rec.left[l.Call] = append(rec.left[l.Call], l)
	}
	if err := rec.check(ctx, r, u); err != nil {
		return nil, err
	}
	return rec, rec.bring(root)
}

// ReadAnswers reads the calls of a session and what they gave back, to answer
// others with.
func ReadAnswers(ctx context.Context, r *record.Recorder, session string) (*Recording, error) {
	rec := &Recording{Session: session}
	for d, err := range r.Details(ctx, record.Filter{Session: session}) {
		if err != nil {
			return nil, err
		}
		c, err := trajectory.Read(d)
		if err != nil {
			return nil, err
		}
		rec.Calls = append(rec.Calls, c)
	}
	if len(rec.Calls) == 0 {
		return nil, tool.Errorf(tool.NotFound, "session %s has no call to replay", session).
			Suggest("`toolhost events --sessions` lists the sessions.")
	}
	return rec, nil
}

// Began is when the session began.
func (r *Recording) Began() time.Time { return r.Calls[0].Began }

// check finds what cannot be rebuilt, and what may differ.
func (r *Recording) check(ctx context.Context, recorder *record.Recorder, u *undo.Store) error {
	changes, err := u.Changes(ctx, undo.Filter{})
	if err != nil {
		return err
	}
	kept := make(map[[2]string]bool)
	for _, c := range changes {
		kept[[2]string{c.Session, c.Call}] = true
	}
	later, err := recorder.Calls(ctx, record.Filter{Since: r.Began()})
	if err != nil {
		return err
	}
	known := make(map[[2]string]bool)
	for _, c := range later {
		id := [2]string{c.Session, c.Request}
		known[id] = c.Session == r.Session
		if c.Files == 0 || kept[id] {
			continue
		}
		detail, err := recorder.Show(ctx, record.Filter{Session: c.Session, Request: c.Request})
		if err != nil {
			return err
		}
		changed, err := trajectory.Read(detail)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(changed.Files, compared) { // of others nothing is rebuilt
			return tool.Errorf(tool.Unavailable, "the workspace cannot be rebuilt as it was when session %s began: "+
				"what the call %s of session %s changed is not kept", r.Session, c.Request, c.Session).
				Suggest("What can be undone is kept for 14 days and up to 200 MiB; replay a later session.")
		}
	}
	r.doubt(changes, known)
	return nil
}

// doubt notes changes that others made while the session went on, and calls
// whose changes nobody watched.
func (r *Recording) doubt(changes []undo.Change, known map[[2]string]bool) {
	last := r.Calls[len(r.Calls)-1]
	end := last.Began.Add(time.Duration(last.Seconds * float64(time.Second)))
	var others []string
	for _, c := range slices.Backward(changes) {
		name := c.Call + " of session " + c.Session
		if !c.Time.Before(r.Began()) && !c.Time.After(end) && !known[[2]string{c.Session, c.Call}] &&
			!slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		r.Doubts = append(r.Doubts, "files were changed meanwhile by "+strings.Join(others, ", ")+
			", which is not run again")
	}
	for _, c := range r.Calls {
		var metadata struct {
			Sandbox string          `json:"sandbox"`
			NotKept json.RawMessage `json:"not_kept"`
		}
		_ = json.Unmarshal(c.Metadata, &metadata)
		switch {
		case metadata.NotKept != nil:
			r.Doubts = append(r.Doubts, "not all that "+c.ID+" changed was kept")
		case len(c.Argv) > 0 && (metadata.Sandbox == "off" || metadata.Sandbox == "docker"):
			r.Doubts = append(r.Doubts, "nobody watched what "+c.ID+" changed, at the sandbox level "+metadata.Sandbox)
		}
	}
}

// Rebuild makes of a directory, which holds a copy of the workspace, what the
// workspace was when the session began.
func (r *Recording) Rebuild(ctx context.Context, u *undo.Store, dir string) error {
	ws, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		return err
	}
	defer ws.Close()
	_, err = u.Rebuild(ctx, ws, r.Began())
	return err
}

// Stage is where a session is run again. All fields are needed.
type Stage struct {
	Host      *host.Host
	Recorder  *record.Recorder
	Workspace *workspace.Workspace
	// Load makes tools of other servers known. It is called before each call.
	Load func(ctx context.Context, tool string)
	// Normalize are the normalizations after which results are compared.
	Normalize []string
	// Ignore are the patterns of what is not kept, besides what is not by default.
	Ignore []string
	// Approve has calls run that the rules ask about, and lets answers from the
	// record bring any file of the workspace.
	Approve bool
}

// The outcomes of a call that was run again, or was not.
const (
	Same     = "same"
	Differs  = "differs"
	Recorded = "recorded" // its answer is the record's
	Skipped  = "skipped"  // it did not run then either, or may not here
)

// Step is what came of one call.
type Step struct {
	Call    string `json:"request_id"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"`
	// Why says what differs, or why the call was not run.
	Why string `json:"why,omitempty"`
	// Normalized are the normalizations that it took.
	Normalized []string `json:"normalized,omitempty"`
	// Was and Is are the results that differ.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
	// Tree is the hash of the tree after the call, and Expected what it was then,
	// where that differs. Paths are those that differ first here.
	Tree     string   `json:"tree"`
	Expected string   `json:"expected_tree,omitempty"`
	Paths    []string `json:"paths,omitempty"`
}

// Run runs the session again and tells each step. It ends early with an error
// that is not about a single call.
func (r *Recording) Run(ctx context.Context, stage *Stage, told func(Step)) error {
	files := &scanner{root: stage.Workspace.Root()}
	expected, err := files.scan(ctx)
	if err != nil {
		return err
	}
	umask, err := umaskOf()
	if err != nil {
		return err
	}
	mask := umask | r.umask | writeOfOthers
	var before []string // paths that differ already
	for _, c := range r.Calls {
		step, ran := Step{Call: c.ID, Tool: c.Tool}, false
		step.Outcome, step.Why, ran = stage.answers(ctx, c)
		ignored := effects.Ignored(stage.Workspace.Root(), stage.Ignore) // as the call finds it
		if ran {
			again, err := stage.call(ctx, r.Session, c)
			if err != nil {
				return err
			}
			r.compare(&step, stage, c, again, ignored)
		} else if step.Outcome == Recorded {
			if err := put(stage, r.brought[c.ID]); err != nil {
				return err
			}
		}
		for _, l := range r.left[c.ID] {
			expected.apply(l)
		}
		actual, err := files.scan(ctx)
		if err != nil {
			return err
		}
		step.Tree = actual.hash()
		differing := expected.adopt(actual, expected.differs(actual, mask), ignored)
		if hash := expected.hash(); hash != step.Tree {
			step.Expected = hash
		}
		step.Paths = slices.DeleteFunc(slices.Clone(differing),
			func(p string) bool { return slices.Contains(before, p) })
		if len(step.Paths) > 0 {
			step.Outcome = Differs
			step.Why = strings.TrimPrefix(step.Why+"; ", "; ") + "the tree differs in " +
				strings.Join(firstFew(expected.named(step.Paths, actual)), ", ")
		}
		before = differing
		told(step)
		if ctx.Err() != nil {
			return tool.AsError(ctx.Err())
		}
	}
	return nil
}

// firstFew are the first paths of a list, and how many more there are.
func firstFew(paths []string) []string {
	const few = 5
	if len(paths) <= few {
		return paths
	}
	return append(slices.Clone(paths[:few]), fmt.Sprintf("and %d more", len(paths)-few))
}

// answers says whose answer a call gets, and whether it is run.
func (s *Stage) answers(ctx context.Context, c *trajectory.Call) (outcome, why string, run bool) {
	switch {
	case slices.Contains([]string{string(tool.Denied), string(tool.NeedsConfirmation)}, c.Status):
		return Skipped, "it was not allowed to run", false
	case c.Status == record.StatusLost, c.Status == record.StatusRunning, c.Status == record.StatusAsks:
		return Skipped, "nobody knows how it ended: it is " + c.Status, false
	case c.DryRun || c.Status == record.StatusDryRun:
		return Skipped, "it was a dry run", false
	case len(c.Problems) > 0:
		return Skipped, strings.Join(c.Problems, "; "), false
	}
	if fromServer(c.Source) {
		return Recorded, "it reaches out, to " + c.Source, false
	}
	s.Load(ctx, c.Tool)
	if entry, err := s.Host.Catalog().Lookup(c.Tool); err == nil && reachesOut(entry) {
		return Recorded, "it reaches out, to " + c.Source, false
	}
	return Same, "", true
}

// fromServer reports whether a source is another MCP server.
func fromServer(source string) bool { return strings.HasPrefix(source, "mcp ") }

// reachesOut reports whether a tool's answer comes from elsewhere: from another
// MCP server, or over the network. Commands run here, whatever they may reach.
func reachesOut(entry *host.Entry) bool {
	if fromServer(entry.Source) {
		return true
	}
	permissions := entry.Definition().Permissions
	return slices.Contains(permissions, tool.Network) && !slices.Contains(permissions, tool.ShellExec)
}

// call makes a call again, and gives what the record of the stage has of it.
func (s *Stage) call(ctx context.Context, session string, c *trajectory.Call) (*trajectory.Call, error) {
	answers := make(map[string]tool.Answer)
	if s.Approve {
		answers = host.ApproveAll()
	}
	for key, answer := range c.Answers {
		if !host.OwnKey(key) { // those to the tool's questions alone
			answers[key] = answer
		}
	}
	outcome := s.Host.Session(session).Call(ctx, host.Request{Tool: c.Tool, Params: c.Params, ID: c.ID,
		Client: c.Client, Answers: answers})
	detail, err := s.Recorder.Show(ctx, record.Filter{Session: session, Request: outcome.RequestID})
	if err != nil {
		return nil, err
	}
	return trajectory.Read(detail)
}

func (r *Recording) compare(step *Step, stage *Stage, was, is *trajectory.Call, ignored func(string) bool) {
	var decision struct{ Action string }
	_ = json.Unmarshal(is.Decision, &decision)
	if was.Status != is.Status && !stage.Approve && decision.Action == "ask" {
		step.Outcome, step.Why = Skipped, "the rules ask about it here; --approve runs it"
		return
	}
	if was.Status != is.Status {
		step.Outcome = Differs
		step.Why = fmt.Sprintf("it was %s, and is %s", was.Status, strings.TrimSpace(is.Status+" "+is.Message))
		return
	}
	needed, ok := equal(side{said(was), r.Root}, side{said(is), stage.Workspace.Root()}, stage.Normalize)
	if !ok {
		step.Outcome, step.Why, step.Was, step.Is = Differs, "the result differs", said(was), said(is)
		return
	}
	step.Normalized = needed
	if !slices.Equal(kept(was.Files, ignored), kept(is.Files, ignored)) {
		step.Outcome = Differs
		step.Why = fmt.Sprintf("it changed %s, and changes %s", list(was.Files), list(is.Files))
	}
}

// said is all that the caller was told.
func said(c *trajectory.Call) string {
	if c.Message != "" {
		return c.Message + "\n" + string(c.Result)
	}
	return string(c.Result)
}

func list(paths []string) string {
	if len(paths) == 0 {
		return "no file"
	}
	return strings.Join(firstFew(paths), ", ")
}
