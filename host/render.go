package host

import (
	"context"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// render converts the outcome to the form of the toolset's callers.
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
		c.bind(input)
		return
	}
	c.outcome.Err = bounded(c.hideStack(ctx, tool.AsError(err)))
	c.outcome.Result = c.failure()
	if len(c.told) > 0 {
		c.outcome.Result.Metadata = with(c.outcome.Result.Metadata, c.told)
	}
}

// failure returns the error of the call as a result, in the tool's own form if it has one.
func (c *call) failure() *tool.Result {
	if r := c.errorRenderer(); r != nil {
		result, err := guard(c.outcome.Tool,
			func() (*tool.Result, error) { return r.RenderError(&c.tool, c.outcome.Err), nil })
		if err == nil && result != nil {
			return result
		}
	}
	return ErrorResult(c.outcome.Err)
}

func (c *call) redact() {
	d, o := c.host.redact.redactor.Load(), &c.outcome
	o.Result, o.Err, o.Plan, o.Input = d.result(o.Result), d.error(o.Err), d.plan(o.Plan), d.input(o.Input)
	o.Decision.Reason = d.string(o.Decision.Reason)
	o.Params, o.Argv = d.object(o.Params), d.texts(o.Argv)
}

// hideStack moves a panic's stack from the error, which callers see, to the log.
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
	for _, e := range c.host.Catalog().entries {
		if r, ok := e.Tool.(tool.ErrorRenderer); ok {
			return r
		}
	}
	return nil
}

// ErrorResult returns an error as a result: message and next step as text.
func ErrorResult(err *tool.Error) *tool.Result {
	text := err.Message
	if err.Suggestion != "" {
		text += "\n" + err.Suggestion
	}
	result := tool.Text(text)
	result.Failed = err
	return result
}
