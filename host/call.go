package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Call runs one call of a tool, from its name to its result. Every face goes
// through here. It never fails as such: whatever goes wrong is in the outcome.
func (s *Session) Call(ctx context.Context, request Request) *Outcome {
	c := &call{host: s.host, session: s, request: request, started: time.Now()}
	return c.through(ctx)
}

// through takes a call through all its steps.
func (c *call) through(ctx context.Context) *Outcome {
	c.running = c.host.running.enter()
	defer c.host.running.leave(c.running)
	ctx, done := c.begin(ctx) // count the step
	defer done()
	err := inOrder(ctx,
		c.resolve, // name -> tool
		c.decode,  // params against the schema, all violations at once
		c.judge,   // allow, ask or deny
		c.plan,    // what would happen, where somebody wants to see it
		c.approve, // the user's word, where the judge said ask
		c.run,     // the tool itself, under deadline and recover
	)
	c.render(ctx, err) // the result in the toolset's own shape
	c.redact()
	c.record(ctx)
	return &c.outcome
}

// errDryRun ends a dry run before the tool acts.
var errDryRun = errors.New("dry run")

// inOrder takes the steps one after the other until one fails.
func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// call is the state of one call on its way through the pipeline.
type call struct {
	host    *Host
	session *Session
	request Request
	started time.Time
	entry   *Entry
	tool    tool.Call
	outcome Outcome
	asking  asking
	running *running
}

// begin counts the step. What belongs to the call goes along in the context
// that it gives; done is for the end.
func (c *call) begin(ctx context.Context) (_ context.Context, done func()) {
	step := c.request.Step
	if step == 0 {
		var err error
		if step, err = c.host.options.Recorder.Step(ctx, c.session.name); err != nil {
			c.host.recorded(ctx, err)
		}
	}
	id := c.request.ID
	if id == "" {
		id = fmt.Sprintf("tool_step_%04d", step)
	}
	c.outcome = Outcome{Tool: c.request.Tool, RequestID: id, Step: step}
	c.tool = tool.Call{
		Tool:        c.request.Tool,
		Session:     c.session.name,
		RequestID:   id,
		Step:        step,
		Params:      c.request.Params,
		Workspace:   c.host.options.Root,
		ArtifactDir: c.host.options.Recorder.ArtifactDir(c.session.name),
		Host:        &services{call: c},
	}
	if add := c.host.options.CallContext; add != nil {
		ctx = add(ctx, &c.tool)
	}
	ctx, done = c.trace(ctx, TraceCall)
	c.event(ctx, "tool_call_started", startedEvent{id, c.request.Tool, c.recordable()})
	return ctx, done
}

func (c *call) resolve(ctx context.Context) error {
	defer func() { c.running.source.Store(&c.outcome.Source) }()
	if c.entry != nil { // a resource or a prompt, found in its own list
		c.outcome.Source = c.entry.Source
		return nil
	}
	if c.request.DryRun {
		if c.entry = c.host.Catalog().offer(c.request.Tool); c.entry != nil {
			c.outcome.Source = c.entry.Source
			return nil
		}
	}
	entry, err := c.host.Catalog().Lookup(c.request.Tool)
	if tool.CodeOf(err) == tool.Denied {
		c.outcome.Decision = Decision{Action: Deny, Reason: "no call of the tool is ever allowed"}
		c.decided(ctx, "")
	}
	if err != nil {
		return err
	}
	c.entry = entry
	c.outcome.Source, c.outcome.Definition = entry.Source, entry.Definition()
	return nil
}

func (c *call) decode(context.Context) error {
	schema, err := c.entry.Schema()
	if err != nil {
		return tool.Errorf(tool.Unavailable, "the tool %q has a broken parameter schema: %w", c.entry.Name, err).
			Suggest("Tell its author; %s cannot be called until it is mended.", c.entry.Name)
	}
	params := c.request.Params
	if n, ok := c.entry.Tool.(tool.Normalizer); ok && len(params) > 0 {
		params = n.Normalize(params)
	}
	params, _, violations := schema.Decode(params)
	if len(violations) > 0 {
		texts := make([]string, len(violations))
		for i, v := range violations {
			texts[i] = v.String()
		}
		return tool.Errorf(tool.InvalidArgument, "invalid parameters for %s: %s", c.entry.Name, strings.Join(texts, "; ")).
			Suggest("Mend every parameter named and call again.").
			With("violations", violations)
	}
	c.tool.Params = params
	c.outcome.Valid = true
	return nil
}

func (c *call) judge(ctx context.Context) error {
	decide := c.host.options.Judge
	if decide == nil {
		c.outcome.Decision = Decision{Action: Allow, Rule: "no policy"}
		return nil
	}
	proposal, err := c.proposal(ctx)
	if err != nil {
		return err
	}
	c.outcome.Decision = decide(ctx, *proposal)
	if a := c.outcome.Decision.Action; a != Allow && a != Ask && !c.request.DryRun {
		c.decided(ctx, "")
		return denied(c.entry.Name, c.outcome.Decision)
	}
	return nil
}

// proposal is the call as judges see it.
func (c *call) proposal(ctx context.Context) (*Proposal, error) {
	p := &Proposal{Tool: c.entry.Name, Source: c.entry.Source, Definition: c.entry.Definition(), Params: c.tool.Params}
	if err := c.addAnswers(ctx, p); err != nil {
		return p, err
	}
	commander, ok := c.entry.Tool.(tool.Commander)
	if !ok {
		return p, nil
	}
	argv, err := guard(c.entry.Name, func() ([]string, error) { return commander.CommandLine(ctx, &c.tool) })
	p.Argv = argv
	return p, err
}

// Propose is what a judge would be asked about a call. Nothing is run, asked
// or recorded.
func (s *Session) Propose(ctx context.Context, request Request) (*Proposal, error) {
	c := &call{host: s.host, session: s, request: request, running: new(running)}
	c.tool = tool.Call{Tool: request.Tool, Session: s.name, Params: request.Params, Workspace: s.host.options.Root}
	if err := inOrder(ctx, c.resolve, c.decode); err != nil {
		return nil, err
	}
	return c.proposal(ctx)
}

func denied(name string, d Decision) *tool.Error {
	return tool.Errorf(tool.Denied, "the call of %s is denied: %s", name, d.Reason).
		Suggest("Do it another way, or ask the operator to change the policy.").
		With("rule", d.Rule)
}

// plan runs for a dry run and before somebody is asked; a plain call pays
// nothing for it.
func (c *call) plan(ctx context.Context) error {
	if !c.request.DryRun && c.outcome.Decision.Action != Ask {
		return nil
	}
	planner, ok := c.entry.Tool.(tool.Planner)
	if ok {
		ctx, done := c.trace(ctx, TracePlan)
		defer done()
		plan, err := guard(c.entry.Name, func() (*tool.Plan, error) { return planner.Plan(ctx, &c.tool) })
		if err != nil && !isUnsupported(err) {
			return err
		}
		c.outcome.Plan = plan
	}
	if c.request.DryRun {
		return errDryRun
	}
	return nil
}

func isUnsupported(err error) bool { return tool.CodeOf(err) == tool.Unsupported }

func (c *call) approve(ctx context.Context) error {
	if c.outcome.Decision.Action != Ask {
		return nil
	}
	answer, given := c.request.Answers[approvalKey]
	switch {
	case given && answer.Accepted():
		c.decided(ctx, c.remember(ctx, answer))
		return nil
	case given:
		c.decided(ctx, "refused")
		return tool.Errorf(tool.Denied, "the user did not approve the call of %s", c.entry.Name).
			Suggest("Do not repeat the call; ask the user what to do instead.")
	case !c.request.CanAsk:
		return c.approvedElsewhere(ctx)
	}
	return &tool.InputRequired{Key: approvalKey, Form: tool.Form{
		Message: fmt.Sprintf("Approve the call of %s? %s", c.entry.Name, c.outcome.Decision.Reason),
	}}
}

// approvedElsewhere is approve where the caller cannot be asked: a person may
// have approved the call in a terminal, or is to do so.
func (c *call) approvedElsewhere(ctx context.Context) error {
	how := c.request.HowToApprove
	if how == "" {
		how = "Ask the operator to allow it with a policy rule in agent.hcl."
	}
	if approvals := c.host.options.Approvals; approvals != nil && c.request.ApproveLater {
		taken, said, err := c.takeApproval(ctx, approvals)
		switch {
		case err != nil:
			c.host.logger.WarnContext(ctx, "the call cannot wait for approval", "tool", c.entry.Name, "error", err)
		case taken:
			c.decided(ctx, "approved elsewhere")
			return nil
		default:
			how = said
		}
	}
	c.decided(ctx, "nobody to ask")
	return tool.Errorf(tool.Denied, "the call of %s needs approval and nobody can be asked: %s", c.entry.Name, c.outcome.Decision.Reason).
		Suggest("%s", how).With("rule", c.outcome.Decision.Rule)
}

func (c *call) takeApproval(ctx context.Context, approvals Approvals) (taken bool, how string, err error) {
	proposal, err := c.proposal(ctx)
	if err != nil {
		return false, "", err
	}
	if taken, err = approvals.Take(ctx, c.session.name, *proposal); taken || err != nil {
		return taken, "", err
	}
	how, err = approvals.File(ctx, c.session.name, *proposal, c.outcome.Decision)
	return false, how, err
}

// remember stores a lasting approval, and says what the record is to say of
// the answer. A failure is no reason to refuse the call that was just approved.
func (c *call) remember(ctx context.Context, answer tool.Answer) string {
	var content approvalContent
	if len(answer.Content) > 0 {
		_ = json.Unmarshal(answer.Content, &content)
	}
	if !content.Remember || c.host.options.Remember == nil {
		return "approved"
	}
	proposal, err := c.proposal(ctx)
	if err == nil {
		err = c.host.options.Remember(ctx, *proposal)
	}
	if err != nil {
		c.host.logger.WarnContext(ctx, "the approval was not stored", "tool", c.entry.Name, "error", err)
		return "approved"
	}
	return "approved for good"
}

func (c *call) run(ctx context.Context) error {
	timeout := c.entry.Tool.Definition().Timeout
	if timeout <= 0 {
		timeout = c.host.options.Limits.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	release, err := c.host.slot(ctx)
	if err != nil {
		return timeoutOrCancel(ctx, err, c.entry.Name, timeout)
	}
	defer release()
	ctx, done := c.trace(ctx, TraceRun)
	defer done()
	result, err := guard(c.entry.Name, func() (*tool.Result, error) { return c.entry.Tool.Call(ctx, &c.tool) })
	if err != nil {
		return timeoutOrCancel(ctx, err, c.entry.Name, timeout)
	}
	if result == nil {
		return tool.Errorf(tool.Internal, "the tool %s gave neither a result nor an error", c.entry.Name).
			Suggest("Tell its author.")
	}
	c.outcome.Result = placed(result, c.host.options.Root)
	return nil
}

// slot waits for one of the places for running calls. A call made by a tool
// runs in its caller's place, or calls waiting for calls could lock up.
func (h *Host) slot(ctx context.Context) (release func(), err error) {
	if nestedIn(ctx) {
		return func() {}, nil
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// guard turns a panic into an error.
func guard[T any](name string, fn func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = tool.Errorf(tool.Internal, "the tool %s broke down: %v", name, p).
				Suggest("Other tools work on. Tell the tool's author; the log has the stack.").
				With("stack", string(debug.Stack()))
		}
	}()
	return fn()
}

// timeoutOrCancel makes the end of a call's context a timeout or cancelled
// error, unless the tool has said something better.
func timeoutOrCancel(ctx context.Context, err error, name string, timeout time.Duration) error {
	if _, own := errors.AsType[*tool.Error](err); own || ctx.Err() == nil || errors.Is(err, tool.ErrInputRequired) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return tool.Errorf(tool.Timeout, "%s did not finish within %s", name, timeout).
			Suggest("Ask for less in one call, or have the operator raise the tool's timeout.")
	}
	return tool.Errorf(tool.Cancelled, "the call of %s was cancelled", name).
		Suggest("Call again if the result is still wanted.")
}

// render brings what happened into the shape that the toolset's callers know.
func (c *call) render(ctx context.Context, err error) {
	c.outcome.Duration = time.Since(c.started)
	c.outcome.Envelope = c.host.Catalog().Toolset().Envelope
	if err == nil {
		c.outcome.Err = c.outcome.Result.Failed
		return
	}
	if errors.Is(err, errDryRun) {
		return
	}
	if input, ok := errors.AsType[*tool.InputRequired](err); ok {
		c.outcome.Input, c.outcome.Answers = c.question(input), c.given()
		return
	}
	c.outcome.Err = c.hideStack(ctx, tool.AsError(err))
	if r := c.errorRenderer(); r != nil {
		c.outcome.Result, err = guard(c.outcome.Tool, func() (*tool.Result, error) { return r.RenderError(&c.tool, c.outcome.Err), nil })
		if err == nil && c.outcome.Result != nil {
			return
		}
	}
	c.outcome.Result = ErrorResult(c.outcome.Err)
}

// redact takes the secrets of the configuration out of what callers see.
func (c *call) redact() {
	d, o := c.host.redact.redactor.Load(), &c.outcome
	o.Result, o.Err, o.Plan, o.Input = d.result(o.Result), d.error(o.Err), d.plan(o.Plan), d.input(o.Input)
	o.Decision.Reason = d.string(o.Decision.Reason)
}

// hideStack moves a panic's stack from the error, which callers see, to the
// log, which operators see.
func (c *call) hideStack(ctx context.Context, err *tool.Error) *tool.Error {
	stack, ok := err.Details["stack"]
	if !ok {
		return err
	}
	c.host.logger.ErrorContext(ctx, "a tool panicked", "tool", c.outcome.Tool, "error", err.Message, "stack", stack)
	shown := *err
	shown.Details = nil
	for key, value := range err.Details {
		if key != "stack" {
			_ = shown.With(key, value)
		}
	}
	return &shown
}

func (c *call) errorRenderer() tool.ErrorRenderer {
	if c.entry != nil {
		if r, ok := c.entry.Tool.(tool.ErrorRenderer); ok {
			return r
		}
	}
	if !c.outcome.Envelope {
		return nil
	}
	return c.host.Catalog().renderer()
}

// ErrorResult is the plain form of an error as a result: message and next
// step as text.
func ErrorResult(err *tool.Error) *tool.Result {
	text := err.Message
	if err.Suggestion != "" {
		text += "\n" + err.Suggestion
	}
	result := tool.Text(text)
	result.Failed = err
	return result
}
