package pluginserver

import (
	"bytes"
	"context"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
)

// state is the host's store, over a call's stream.
type state struct {
	services *services
	scope    tool.Scope
}

var _ tool.State = state{}

func (s state) do(ctx context.Context, req *toolpb.StateRequest) (*toolpb.StateResponse, error) {
	req.Scope = string(s.scope)
	r, err := s.services.ask(ctx, &toolpb.ServiceRequest{Service: &toolpb.ServiceRequest_State{State: req}})
	if err != nil {
		return nil, err
	}
	return r.GetState(), nil
}

func (s state) Get(ctx context.Context, key string) ([]byte, bool, error) {
	r, err := s.do(ctx, &toolpb.StateRequest{Operation: &toolpb.StateRequest_Get{Get: &toolpb.StateGet{Key: key}}})
	if err != nil {
		return nil, false, err
	}
	value := r.GetValue()
	return value, value != nil, nil
}

func (s state) Set(ctx context.Context, key string, value []byte) error {
	_, err := s.do(ctx, &toolpb.StateRequest{Operation: &toolpb.StateRequest_Set{
		Set: &toolpb.StateSet{Key: key, Value: value},
	}})
	return err
}

// Update runs change here and swaps the result in there, again if another update intervened.
func (s state) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	old, _, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	for {
		value, err := change(bytes.Clone(old))
		if err != nil {
			return err
		}
		r, err := s.do(ctx, &toolpb.StateRequest{Operation: &toolpb.StateRequest_Swap{
			Swap: &toolpb.StateSwap{Key: key, Old: old, New: value},
		}})
		if err != nil || r.GetSwapped() {
			return err
		}
		old = r.GetValue()
	}
}

func (s state) Delete(ctx context.Context, key string) error {
	_, err := s.do(ctx, &toolpb.StateRequest{Operation: &toolpb.StateRequest_Delete{
		Delete: &toolpb.StateDelete{Key: key},
	}})
	return err
}

func (s state) Keys(ctx context.Context, prefix string) ([]string, error) {
	r, err := s.do(ctx, &toolpb.StateRequest{Operation: &toolpb.StateRequest_Keys{
		Keys: &toolpb.StateKeys{Prefix: prefix},
	}})
	return r.GetKeys(), err
}
