package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func TestSettleWaitsForTheCallsThatRun(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	h := newHost(t, host.Options{}, newFake("wait", func(context.Context, *tool.Call) (*tool.Result, error) {
		entered <- struct{}{}
		<-release
		return tool.Text("old"), nil
	}))
	source := h.Catalog().Entries()[0].Source
	require.NoError(t, h.Settle(t.Context(), source), "nothing runs")
	result := make(chan *host.Outcome, 2)
	call := func() { result <- h.Session("s").Call(t.Context(), host.Request{Tool: "wait"}) }
	go call()
	testproc.Receive(t, entered)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, h.Settle(short, "another", source), context.DeadlineExceeded)
	assert.NoError(t, h.Settle(t.Context(), "another"), "what runs is of another source")
	settled := make(chan error, 1)
	go func() { settled <- h.Settle(t.Context(), source) }()
	release <- struct{}{}
	assert.Equal(t, "old", testproc.Receive(t, result).Result.Text())
	assert.NoError(t, testproc.Receive(t, settled))
}
