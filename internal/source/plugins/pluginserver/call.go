package pluginserver

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// Call implements the protocol.
func (s *server) Call(stream toolpb.Plugin_CallServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	if start == nil {
		return status.Error(codes.InvalidArgument, "the first message of a call must be start")
	}
	ctx, cancel := callContext(stream.Context(), start)
	defer cancel(context.Canceled)

	svc := &services{stream: stream, waiting: make(map[uint64]chan *toolpb.ServiceResponse)}
	go svc.receive(ctx, cancel)
	result, err := s.call(ctx, start, svc)
	return svc.finish(ctx, result, err)
}

// callContext returns the tool's context. It has the call's deadline, while the stream lives on so that the
// tool can still answer.
func callContext(ctx context.Context, start *toolpb.Call) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if start.GetTimeoutMs() <= 0 {
		return ctx, cancel
	}
	ctx, stop := context.WithTimeout(ctx, time.Duration(start.GetTimeoutMs())*time.Millisecond)
	return ctx, func(cause error) { cancel(cause); stop() }
}

func (s *server) call(ctx context.Context, start *toolpb.Call, svc *services) (r *tool.Result, err error) {
	t, err := s.tool(start.GetTool())
	if err != nil {
		return nil, err
	}
	call := wire.DecodeCall(start)
	call.Host = svc
	defer s.guard(call.Tool, &err)
	return t.Call(ctx, call)
}

func (svc *services) finish(ctx context.Context, result *tool.Result, err error) error {
	if sendErr := svc.send(outcome(ctx, result, err)); status.Code(sendErr) == codes.ResourceExhausted {
		return svc.send(outcome(ctx, nil, tool.Errorf(tool.TooLarge,
			"the result is larger than the %d MiB that a plugin can give", wire.MaxMessage>>20).
			Suggest("Ask for less at a time.")))
	} else if sendErr != nil {
		return sendErr
	}
	return nil
}

func outcome(ctx context.Context, result *tool.Result, err error) *toolpb.CallResponse {
	if q := wire.EncodeInputRequired(err); q != nil {
		return &toolpb.CallResponse{Message: &toolpb.CallResponse_InputRequired{InputRequired: q}}
	}
	if err == context.Canceled && context.Cause(ctx) != nil {
		err = context.Cause(ctx) // a timeout, even if the host's message preceded the deadline
	}
	if err != nil {
		return &toolpb.CallResponse{Message: &toolpb.CallResponse_Error{Error: wire.EncodeError(err)}}
	}
	if result == nil {
		result = &tool.Result{}
	}
	return &toolpb.CallResponse{Message: &toolpb.CallResponse_Result{Result: wire.EncodeResult(result)}}
}
