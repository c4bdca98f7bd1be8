package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
)

func (c *call) run(ctx context.Context) (err error) {
	if c.reviewed != nil {
		return c.commit(ctx)
	}
	def := c.entry.Tool.Definition()
	timeout := def.Timeout + def.Grace
	if def.Timeout <= 0 {
		timeout = time.Duration(c.host.timeout.Load())
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
	harmless := def.Risk == tool.ReadOnly && !c.entry.foreign
	if before := c.host.options.BeforeRun; before != nil {
		if err := before(ctx, harmless || def.Idempotent && !c.entry.foreign); err != nil {
			return err
		}
	}
	if effects := c.host.options.Effects; effects != nil {
		ended := effects(ctx)
		defer func() { err = c.affected(ended, err) }()
	}
	connections := c.networkLog(ctx)
	ctx = network.With(ctx, connections)
	defer func() { err = c.askAfter(c.connected(connections, err)) }()
	result, err := c.callTool(ctx)
	if err != nil {
		return timeoutOrCancel(ctx, err, c.entry.Name, timeout)
	}
	if result == nil {
		return tool.Errorf(tool.Internal, "the tool %s gave neither a result nor an error", c.entry.Name).
			Suggest("Tell its author.")
	}
	if why, ok := result.Metadata[tool.SandboxWeaker].(string); ok && c.host.tellWeaker.Swap(false) {
		c.host.logger.WarnContext(ctx, "the sandbox is below its strongest level", "error", why,
			"help", "toolhost doctor says what the strongest level needs.")
	}
	if c.entry.foreign {
		result = boundedResult(result, c.host.output.Load())
	}
	c.outcome.Result = placed(checked(c.entry, result), c.host.options.Root)
	return nil
}

// add adds a text to the result, under a key of its metadata.
func (c *call) add(key, said string) {
	result := *c.outcome.Result
	result.Metadata = maps.Clone(result.Metadata)
	if result.Metadata == nil {
		result.Metadata = make(map[string]any, 1)
	}
	result.Metadata[key] = said
	if !c.host.Catalog().Toolset().Envelope && result.Structured == nil {
		result.Contents = append(slices.Clip(result.Contents), tool.Content{Kind: tool.KindText, Text: said})
	}
	c.outcome.Result = &result
}

// callTool runs the tool. Connections that one of toolhost's own made in another process go into the log.
func (c *call) callTool(ctx context.Context) (*tool.Result, error) {
	result, err := guard(c.entry.Name, func() (*tool.Result, error) { return c.entry.Tool.Call(ctx, &c.tool) })
	if c.entry.foreign {
		return result, err
	}
	facts := map[string]any(nil)
	if result != nil {
		facts = result.Metadata
	} else if e, ok := errors.AsType[*tool.Error](err); ok {
		facts = e.Details
	}
	if found, ok := facts[network.Key]; ok {
		delete(facts, network.Key)
		var list []network.Connection
		if err := json.Unmarshal(tool.MustMarshal(found), &list); err == nil {
			network.From(ctx).Include(list)
		}
	}
	return result, err
}

// connected keeps the network log of the call's processes, and adds refused hosts to the error.
func (c *call) connected(log *network.Log, err error) error {
	log.Settle()
	c.connections, c.connectionsMissed = log.Connections()
	c.outcome.Connections = len(c.connections) + c.connectionsMissed
	for _, made := range c.connections {
		if made.Refused != "" {
			c.outcome.Refused += max(made.Times, 1)
			c.outcome.Connections += max(made.Times, 1) - 1
		}
	}
	if c.request.Learn {
		c.outcome.Reached, c.outcome.LookedUp = log.Learned()
	}
	said := log.Explain()
	if said == "" || errors.Is(err, tool.ErrInputRequired) {
		return err
	}
	if err != nil {
		e := tool.AsError(err)
		if e.Suggestion != "" {
			said += " " + e.Suggestion
		}
		return e.Suggest("%s", said).With("refused_hosts", log.Refused())
	}
	c.add("refused_hosts", said)
	return nil
}

// slot waits for one of the places for running calls. A tool's own call runs in its caller's place: waiting
// could deadlock.
func (h *Host) slot(ctx context.Context) (release func(), err error) {
	if nested, _ := ctx.Value(nestedKey{}).(bool); nested {
		return func() {}, nil
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func guard[T any](name string, fn func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = tool.Errorf(tool.Internal, "the tool %s panicked: %v", name, p).
				Suggest("Other tools work on. Tell the tool's author; the log has the stack.").
				With("stack", string(debug.Stack()))
		}
	}()
	return fn()
}

// timeoutOrCancel makes the end of a call's context a timeout or cancelled error, unless the tool has its own.
func timeoutOrCancel(ctx context.Context, err error, name string, timeout time.Duration) error {
	if _, own := errors.AsType[*tool.Error](err); own || ctx.Err() == nil || errors.Is(err, tool.ErrInputRequired) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return tool.Errorf(tool.Timeout, "%s did not finish within %s", name, timeout).
			Suggest("Do less in one call, or raise the timeout of the tool.")
	}
	return tool.Errorf(tool.Cancelled, "the call of %s was cancelled", name).
		Suggest("Call again if the result is still wanted.")
}
