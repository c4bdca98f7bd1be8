package project

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/file/atomicfile"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/store/approval"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Approvals returns the store of calls waiting for approval in this workspace.
func (p *Project) Approvals() (*approval.Store, error) {
	if p.stateDir == "" {
		return nil, tool.Errorf(tool.Unavailable, "calls cannot wait for approval: %s", p.stateless.Message).
			Suggest("%s", p.stateless.Suggestion)
	}
	dir, err := approval.Dir()
	if err != nil {
		return nil, err
	}
	return approval.Open(p.store.Directory(approval.StateDir), dir, p.Workspace.Root(),
		p.Config().Workspace.Allow...)
}

// WouldBe returns what a waiting call would do now, without a record. A call that could not run if
// approved is an error.
func (p *Project) WouldBe(ctx context.Context, pending approval.Pending) (*host.Outcome, error) {
	if pending.Connect != "" {
		return &host.Outcome{Tool: pending.Tool, Params: pending.Seen(), Connect: pending.Connect,
			Decision: host.Decision{Action: host.Ask, Rule: "network", Reason: pending.Reason}}, nil
	}
	request := host.Request{Tool: pending.Tool, DryRun: true, Shown: pending.Effects}
	request.Params, request.Answers = host.WithoutAnswers(pending.Params)
	outcome, err := p.Host.Session("cli").Preview(ctx, request)
	if err != nil {
		return nil, tool.Errorf(outcome.Err.Code, "the call of %s would fail: %s", pending.Tool, outcome.Err.Message).
			Suggest("Nothing was approved. %s", outcome.Err.Suggestion)
	}
	if outcome.Decision.Action == host.Deny {
		return nil, tool.Errorf(tool.Denied, "the policy denies the call of %s: %s", pending.Tool,
			outcome.Decision.Reason).
			Suggest("Change the rule %q in agent.hcl first.", outcome.Decision.Rule)
	}
	return outcome, nil
}

// pendingApprovals lets the user approve on the command line what an MCP client cannot ask.
type pendingApprovals struct{ p *Project }

func (e pendingApprovals) call(session string, proposal host.Proposal) approval.Call {
	return approval.Call{Toolset: e.p.options.Toolset, Session: session, Tool: proposal.Tool, Params: proposal.Params,
		Shown: proposal.Shown, Flags: e.p.options.Flags, Effects: proposal.Effects, Connect: proposal.Connect, Client: proposal.Client}
}

// Take implements host.Approvals.
func (e pendingApprovals) Take(_ context.Context, session string, proposal host.Proposal) (host.Verdict, string,
	error) {
	store, err := e.p.Approvals()
	if err != nil {
		return "", "", err
	}
	word, err := store.Take(e.call(session, proposal))
	switch {
	case err != nil:
		return "", "", err
	case word != nil && word.Refused:
		return host.Refuse, word.Reason, nil
	case word != nil:
		return host.ApproveOnce, "", nil
	}
	if always, err := e.remembered(proposal); err != nil || !always {
		return "", "", err
	}
	return host.ApproveAlways, "", nil
}

// remembered reports whether the user answered "always" in another process since the rules were read.
func (e pendingApprovals) remembered(proposal host.Proposal) (bool, error) {
	rules, err := e.p.openPolicy(e.p.Config())
	if err != nil || rules.Decide(e.p.policyRequest(proposal)).Action != policy.Allow {
		return false, err
	}
	e.p.policy.Store(rules)
	return true, nil
}

// File implements host.Approvals.
func (e pendingApprovals) File(ctx context.Context, session string, proposal host.Proposal, d host.Decision) (string,
	error) {
	store, err := e.p.Approvals()
	if err != nil {
		return "", err
	}
	pending, err := store.File(ctx, e.call(session, proposal), d.Reason)
	if err != nil {
		return "", err
	}
	return e.p.options.HowToApprove(pending, e.p.Workspace.Root()), nil
}

// questionTime is how long a stored question is kept.
const questionTime = 24 * time.Hour

// KeepQuestion stores an approval question in the user's cache and returns the file. It fails if tools
// may write there.
func (p *Project) KeepQuestion(text string) (file string, err error) {
	dir := userdir.Cache("questions")
	if dir == "" {
		return "", tool.Errorf(tool.Unavailable, "there is no place for questions").
			Suggest("Set HOME (or XDG_CACHE_HOME).")
	}
	for _, tree := range append([]string{p.Workspace.Root()}, p.Config().Workspace.Allow...) {
		if realpath.Within(dir, tree) {
			return "", tool.Errorf(tool.Unavailable, "questions cannot be kept in %s, where tools may write", dir).
				Suggest("Set XDG_CACHE_HOME to a directory outside the workspace.")
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
	for _, path := range old {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > questionTime {
			_ = os.Remove(path)
		}
	}
	file = filepath.Join(dir, show.Digest(text)[:16]+".txt")
	return file, atomicfile.Write(file, []byte(text), 0o600)
}
