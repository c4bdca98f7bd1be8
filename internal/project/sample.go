package project

import (
	"context"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/model"
)

func newModel(cfg *config.Config) (*model.Client, error) {
	m := cfg.Model
	if m == nil {
		return nil, nil
	}
	return model.New(model.Options{
		URL: m.URL, Model: m.Name, Key: m.Key, Headers: m.Headers, Private: m.Private,
		Timeout: m.Timeout, MaxTokens: m.MaxTokens, Place: m.Pos,
	})
}

func (p *Project) sample(ctx context.Context, request tool.SampleRequest) (*tool.SampleResponse, error) {
	asked := p.current().model
	if asked == nil {
		return nil, host.ErrNoModel
	}
	return asked.Sample(ctx, request)
}
