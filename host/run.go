package host

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// run calls the tool itself, under its time limit.
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
	if around := c.host.options.Around; around != nil && !harmless {
		after := around(c.entry.Source)
		defer func() { err = c.leftBehind(ctx, after, err) }()
	}
	if effects := c.host.options.Effects; effects != nil {
		ended := effects(ctx)
		defer func() { err = c.affected(ended, err) }()
	}
	result, err := guard(c.entry.Name, func() (*tool.Result, error) { return c.entry.Tool.Call(ctx, &c.tool) })
	if err != nil {
		return timeoutOrCancel(ctx, err, c.entry.Name, timeout)
	}
	if result == nil {
		return tool.Errorf(tool.Internal, "the tool %s gave neither a result nor an error", c.entry.Name).
			Suggest("Tell its author.")
	}
	if c.entry.foreign {
		result = boundedResult(result, c.host.output.Load())
	}
	c.outcome.Result = placed(checked(c.entry, result), c.host.options.Root)
	return nil
}

// leftBehind tells the operator and the caller what a call has left behind. The
// fixed contracts have no place for a further text, so there it is in what
// belongs to the result: its metadata, or the details of the error.
func (c *call) leftBehind(ctx context.Context, after func() string, err error) error {
	if after == nil {
		return err
	}
	said := after()
	if said == "" {
		return err
	}
	c.host.logger.WarnContext(ctx, said, "tool", c.entry.Name)
	if err != nil {
		return tool.AsError(err).With("left_behind", said)
	}
	result := *c.outcome.Result
	result.Metadata = maps.Clone(result.Metadata)
	if result.Metadata == nil {
		result.Metadata = make(map[string]any, 1)
	}
	result.Metadata["left_behind"] = said
	if !c.host.Catalog().Toolset().Envelope && result.Structured == nil {
		result.Contents = append(slices.Clip(result.Contents), tool.Content{Kind: tool.KindText, Text: said})
	}
	c.outcome.Result = &result
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
			err = tool.Errorf(tool.Internal, "the tool %s panicked: %v", name, p).
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
