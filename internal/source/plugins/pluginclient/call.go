package pluginclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
)

// maxRequests bounds a call's concurrent service requests. Further ones wait.
const maxRequests = 32

// Call runs a tool. When ctx ends, the plugin is notified and still has the grace to answer: a stopped tool may
// have a result.
func (c *Client) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	streamCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	s := &session{client: c, call: call, slots: make(chan struct{}, maxRequests)}
	s.sendMu.Lock() // cancel waits until the start is sent
	halt := context.AfterFunc(ctx, func() { s.cancel(ctx, c.grace, stop) })
	defer halt()
	if err := s.start(ctx, streamCtx, c); err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// session is the host's side of a call's stream.
type session struct {
	client *Client
	stream toolpb.Plugin_CallClient
	call   *tool.Call
	slots  chan struct{}

	sendMu sync.Mutex
	mu     sync.Mutex
	timer  *time.Timer
	ended  bool
	hung   bool
}

func (s *session) send(m *toolpb.CallRequest) error {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	if s.stream == nil {
		return io.EOF
	}
	return s.stream.Send(m)
}

// start opens the stream. It must be called with sendMu held, and releases it.
func (s *session) start(ctx, streamCtx context.Context, c *Client) error {
	defer s.sendMu.Unlock()
	stream, err := c.rpc.Call(streamCtx)
	if err != nil {
		return s.failure(err)
	}
	s.stream = stream
	err = stream.Send(&toolpb.CallRequest{Message: &toolpb.CallRequest_Start{Start: wire.EncodeCall(ctx, s.call)}})
	switch {
	case status.Code(err) == codes.ResourceExhausted:
		s.end()
		return tool.Errorf(tool.TooLarge, "the parameters are larger than the %d MiB that a plugin takes",
			wire.MaxMessage>>20).
			Suggest("Pass less at a time, or the path of a file.")
	case err != nil && !errors.Is(err, io.EOF):
		return s.failure(err)
	}
	return nil // after io.EOF the next Recv has the reason
}

// cancel tells the plugin to stop, and ends the stream if it has not answered after grace.
func (s *session) cancel(ctx context.Context, grace time.Duration, stop func()) {
	s.mu.Lock()
	if !s.ended {
		s.timer = time.AfterFunc(grace, func() {
			s.mu.Lock()
			s.hung = !s.ended
			s.mu.Unlock()
			stop()
		})
	}
	s.mu.Unlock()
	code := tool.Cancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = tool.Timeout
	}
	_ = s.send(&toolpb.CallRequest{Message: &toolpb.CallRequest_Cancel{Cancel: &toolpb.Cancel{Code: string(code)}}})
}

// end stops the grace timer and reports whether the plugin hung.
func (s *session) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
	return s.hung
}

// run receives until the plugin ends the call, then cancels the open requests and waits for them.
func (s *session) run(ctx context.Context) (*tool.Result, error) {
	servicesCtx, cancel := context.WithCancel(ctx)
	var requests sync.WaitGroup
	defer requests.Wait()
	defer cancel()
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return nil, s.failure(err)
		}
		switch m := m.GetMessage().(type) {
		case *toolpb.CallResponse_Progress:
			s.call.Progress(servicesCtx, wire.DecodeProgress(m.Progress))
		case *toolpb.CallResponse_Log:
			level, message, attrs := wire.DecodeLog(m.Log)
			s.call.Log(servicesCtx, level, message, attrs...)
		case *toolpb.CallResponse_Request:
			s.slots <- struct{}{}
			requests.Go(func() { defer func() { <-s.slots }(); s.answer(servicesCtx, m.Request) })
		case *toolpb.CallResponse_Result:
			s.end()
			return checked(wire.DecodeResult(m.Result))
		case *toolpb.CallResponse_Error:
			s.end()
			return nil, wire.DecodeError(m.Error)
		case *toolpb.CallResponse_InputRequired:
			s.end()
			return nil, wire.DecodeInputRequired(m.InputRequired)
		}
	}
}

func (s *session) failure(err error) error {
	hung := s.end()
	if errors.Is(err, io.EOF) {
		err = errors.New("the plugin ended the call without a result")
	}
	if status.Code(err) == codes.ResourceExhausted {
		return tool.Errorf(tool.TooLarge, "the plugin's message is larger than %d MiB", wire.MaxMessage>>20).
			Suggest("Ask for less at a time.")
	}
	return &connectionError{cause: err, hung: hung}
}

func (s *session) answer(ctx context.Context, req *toolpb.ServiceRequest) {
	resp, err := s.serve(ctx, req)
	if err != nil {
		resp = &toolpb.ServiceResponse{Error: wire.EncodeError(err)}
		if q := wire.EncodeInputRequired(err); q != nil {
			resp = &toolpb.ServiceResponse{Service: &toolpb.ServiceResponse_InputRequired{InputRequired: q}}
		}
	}
	resp.Id = req.GetId()
	err = s.send(&toolpb.CallRequest{Message: &toolpb.CallRequest_Response{Response: resp}})
	if status.Code(err) == codes.ResourceExhausted {
		failure := tool.Errorf(tool.TooLarge, "the host's answer is larger than %d MiB", wire.MaxMessage>>20).
			Suggest("Ask for less at a time.")
		_ = s.send(&toolpb.CallRequest{Message: &toolpb.CallRequest_Response{
			Response: &toolpb.ServiceResponse{Id: req.GetId(), Error: wire.EncodeError(failure)},
		}})
	}
}
