package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

// Call runs one call of a tool, from its name to its result, for every face. Failures are part of the outcome.
func (s *Session) Call(ctx context.Context, request Request) *Outcome {
	c := &call{host: s.host, session: s, request: request, started: time.Now()}
	return c.execute(ctx)
}

// Refuse records as failed, with the error why, a call that the face refuses. Nothing is run.
func (s *Session) Refuse(ctx context.Context, request Request, why *tool.Error) *Outcome {
	c := &call{host: s.host, session: s, request: request, started: time.Now()}
	c.running = c.host.running.enter()
	defer c.host.running.leave(c.running)
	if c.unready(ctx) {
		return &c.outcome
	}
	ctx, done := c.begin(ctx)
	defer done()
	c.hiddenBy(ctx)
	c.render(ctx, why)
	c.redact()
	c.record(ctx)
	return &c.outcome
}

func (c *call) execute(ctx context.Context) *Outcome {
	c.running = c.host.running.enter()
	defer c.host.running.leave(c.running)
	if c.unready(ctx) {
		return &c.outcome
	}
	ctx, done := c.begin(ctx) // count the step
	defer done()
	err := inOrder(ctx,
		c.requireRecorded, // recorded, if required
		c.resolve,         // name -> tool
		c.decode,          // params against the schema, all violations at once
		c.judge,           // allow, ask or deny
		c.plan,            // what would happen, if requested
		c.review,          // what does happen, in a view, if the judge requires it
		c.approve,         // the user's decision, if the judge requires it
		c.run,             // the tool itself, under deadline and recover
	)
	c.render(ctx, err) // the result in the toolset's own form
	c.redact()
	c.record(ctx)
	return &c.outcome
}

// unready answers a call that cannot be made now, and reports whether it did.
func (c *call) unready(ctx context.Context) bool {
	if c.host.options.Ready == nil {
		return false
	}
	err := c.host.options.Ready()
	if err == nil {
		return false
	}
	c.outcome = Outcome{Tool: c.request.Tool, RequestID: c.request.ID}
	c.render(ctx, err)
	return true
}

// errDryRun ends a dry run before the tool acts.
var errDryRun = errors.New("dry run")

func inOrder(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type call struct {
	host       *Host
	session    *Session
	request    Request
	started    time.Time
	entry      *Entry
	tool       tool.Call
	outcome    Outcome
	asking     asking
	hidden     *redactor      // of the parameters that are kept out of the record
	secrets    []string       // those values
	unrecorded error          // of its beginning
	changed    []string       // by the processes of a call that failed
	told       map[string]any // metadata about changed
	// connections are those of the call's processes.
	connections       []network.Connection
	connectionsMissed int
	origin            Origin
	answer            string // that decided, if someone was asked
	running           *running
	reviewed          *reviewed // made in a view; reviewing is its name
	reviewing         string
	filed             bool // it waits for approval
	looking           bool // it is not made
}

// begin counts the step. The returned context has the call; done must be called at the end.
func (c *call) begin(ctx context.Context) (_ context.Context, done func()) {
	step := c.request.Step
	if step == 0 {
		var err error
		if step, err = c.host.options.Recorder.Step(ctx, c.session.name); err != nil {
			c.host.recorded(ctx, err)
		}
	}
	id := c.request.ID
	switch name := c.host.options.CallID; {
	case id != "":
	case name != nil:
		id = name()
	default:
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
	c.outcome.Given = c.recordable()
	ctx, done = c.trace(ctx, TraceCall)
	c.origin = OriginOf(ctx)
	c.unrecorded = c.event(ctx, "tool_call_started", startedEvent{id, c.request.Tool, c.outcome.Given, c})
	if c.request.OnStart != nil {
		_, err := c.recordNeeded()
		c.request.OnStart(err)
	}
	return ctx, done
}

// requireRecorded refuses a call that must be in the record and is not.
func (c *call) requireRecorded(context.Context) error {
	required, err := c.recordNeeded()
	if !required || err == nil {
		return nil
	}
	return tool.Errorf(tool.Unavailable, "the call was not run: it cannot be recorded, as agent.hcl requires: %s",
		tool.AsError(err).Message).
		Suggest("Make space for the record, which `toolhost doctor` shows, or remove required from the record block.")
}

// recordNeeded returns whether the call must be recorded, and why it is not.
func (c *call) recordNeeded() (required bool, err error) {
	if c.host.options.Unrecorded != nil {
		required, err = c.host.options.Unrecorded()
	}
	return required, cmp.Or(err, c.unrecorded)
}

func (c *call) resolve(ctx context.Context) error {
	defer func() { c.running.source.Store(&c.outcome.Source) }()
	if c.entry != nil { // a resource or a prompt, found in its own list
		c.outcome.Source = c.entry.Source
		return nil
	}
	if c.request.DryRun {
		if c.entry = c.host.Catalog().offer(c.request.Tool); c.entry != nil {
			c.outcome.Source, c.outcome.Definition = c.entry.Source, c.entry.Definition()
			return nil
		}
	}
	catalog := c.host.Catalog()
	entry, err := catalog.Lookup(c.request.Tool)
	if c.looking && catalog.hidden[c.request.Tool].Rule != "" { // the judge says by which rules
		entry, err = catalog.withheld[c.request.Tool], nil
	}
	if err != nil {
		c.hiddenBy(ctx)
		return err
	}
	c.entry = entry
	c.outcome.Source, c.outcome.Definition, c.outcome.foreign = entry.Source, entry.Definition(), entry.foreign
	return nil
}

// hiddenBy records the decision by which the tool is hidden, if it is.
func (c *call) hiddenBy(ctx context.Context) {
	if d, hidden := c.host.Catalog().hidden[c.request.Tool]; hidden && !c.looking {
		c.outcome.Decision = d
		c.decided(ctx, "")
	}
}

func (c *call) decode(context.Context) error {
	accepts, err := c.entry.Schema()
	if err != nil {
		return tool.Errorf(tool.Unavailable, "the tool %q has a broken parameter schema: %w", c.entry.Name, err).
			Suggest("Tell its author; %s cannot be called until it is fixed.", c.entry.Name)
	}
	given := c.request.Params
	garbled := schema.Garbled(given)
	if n, ok := c.entry.Tool.(tool.Normalizer); ok && len(given) > 0 && garbled == nil {
		given = n.Normalize(given)
	}
	params, _, violations := accepts.Decode(given)
	if len(violations) > 0 && garbled == nil && !c.host.Catalog().Toolset().Envelope { // contracts fail such calls
		if relaxed, changed := accepts.Relax(given); changed {
			params, _, violations = accepts.Decode(relaxed)
		}
	}
	if len(violations) > 0 {
		return tool.Errorf(tool.InvalidArgument, "invalid parameters for %s: %s", c.entry.Name,
			schema.Join(violations)).
			Suggest("toolhost describe %s shows its parameters.", c.entry.Name).
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
	c.outcome.Params, c.outcome.Argv = proposal.Params, proposal.Argv
	c.outcome.Decision = decide(ctx, *proposal)
	if a := c.outcome.Decision.Action; a != Allow && a != Ask && a != Review && !c.request.DryRun {
		c.decided(ctx, "")
		return denied(c.entry.Name, c.outcome.Decision)
	}
	return nil
}

// proposal returns the call as judges see it.
func (c *call) proposal(ctx context.Context) (*Proposal, error) {
	p := &Proposal{Tool: c.entry.Name, Source: c.entry.Source, Definition: c.entry.Definition(), Params: c.tool.Params,
		Client: c.request.Client}
	if c.reviewed != nil {
		p.Effects = c.reviewed.changes.Digest
	}
	if err := c.addAnswers(ctx, p); err != nil {
		return p, err
	}
	if secrets := c.entry.secretParameters(); secrets != nil {
		p.Shown, _ = withoutWriteOnly(secrets, p.Params)
	}
	commander, ok := c.entry.Tool.(tool.Commander)
	if !ok {
		return p, nil
	}
	argv, err := guard(c.entry.Name, func() ([]string, error) { return commander.CommandLine(ctx, &c.tool) })
	p.Argv = argv
	return p, err
}

// Propose returns what a judge would be asked about a call. Nothing is run, asked or recorded.
func (s *Session) Propose(ctx context.Context, request Request) (*Proposal, error) {
	c := s.unmade(request)
	if err := inOrder(ctx, c.resolve, c.decode); err != nil {
		return nil, err
	}
	return c.proposal(ctx)
}

// Preview is a dry run of a call without a record. With an error, the outcome is as far as it got.
func (s *Session) Preview(ctx context.Context, request Request) (*Outcome, error) {
	request.DryRun = true
	c := s.unmade(request)
	if add := c.host.options.CallContext; add != nil {
		ctx = add(ctx, &c.tool)
	}
	err := inOrder(ctx, c.resolve, c.decode, c.judge, c.plan)
	if err != nil && !errors.Is(err, errDryRun) {
		c.outcome.Err = tool.AsError(err)
	}
	c.redact()
	if c.outcome.Err != nil {
		return &c.outcome, c.outcome.Err
	}
	return &c.outcome, nil
}

// unmade returns a call that is not made.
func (s *Session) unmade(request Request) *call {
	c := &call{host: s.host, session: s, request: request, running: new(running), started: time.Now(), looking: true}
	c.outcome.Tool = request.Tool
	c.tool = tool.Call{Tool: request.Tool, Session: s.name, Params: request.Params, Workspace: s.host.options.Root,
		Host: &services{call: c}}
	return c
}

func denied(name string, d Decision) *tool.Error {
	return tool.Errorf(tool.Denied, "the call of %s is denied: %s", name, d.Reason).
		Suggest("Do it another way, or ask the user to change the policy.").
		With("rule", d.Rule)
}

// plan does nothing unless for a dry run or before an approval: a plain call pays nothing for it.
func (c *call) plan(ctx context.Context) error {
	if a := c.outcome.Decision.Action; !c.request.DryRun && a != Ask && a != Review {
		return nil
	}
	planner, ok := c.entry.Tool.(tool.Planner)
	if ok {
		ctx, done := c.trace(ctx, TracePlan)
		defer done()
		plan, err := guard(c.entry.Name, func() (*tool.Plan, error) { return planner.Plan(ctx, &c.tool) })
		if err != nil && tool.CodeOf(err) != tool.Unsupported {
			return err
		}
		c.outcome.Plan = plan
	}
	if !c.request.DryRun {
		return nil
	}
	shown, err := c.previewKept(ctx)
	if err == nil && !shown {
		err = c.preview(ctx)
	}
	if err != nil {
		return err
	}
	return errDryRun
}
