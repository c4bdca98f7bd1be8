package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// A call that must be recorded and cannot be fails before it runs, whether the disk is full or there is no
// record.
func TestCallsThatMustBeRecorded(t *testing.T) {
	for _, c := range []struct {
		name     string
		full     bool
		none     error
		required bool
		runs     bool
	}{
		{"recorded", false, nil, true, true},
		{"full disk", true, nil, true, false},
		{"full disk, not required", true, nil, false, true},
		{"no record", false, errors.New("no place for it"), true, false},
		{"no record, not required", false, errors.New("no place for it"), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk, ran := new(fullDisk), false
			disk.full.Store(c.full)
			h := newHost(t, host.Options{Recorder: disk, Unrecorded: func() (bool, error) { return c.required, c.none }},
				newFake("x", func(context.Context, *tool.Call) (*tool.Result, error) {
					ran = true
					return tool.Text("fine"), nil
				}))
			out := h.Session("s").Call(t.Context(), host.Request{Tool: "x", Params: json.RawMessage(`{}`)})
			assert.Equal(t, c.runs, ran)
			if c.runs {
				assert.Nil(t, out.Err)
				return
			}
			require.NotNil(t, out.Err)
			assert.Equal(t, tool.Unavailable, out.Err.Code)
			assert.Contains(t, out.Err.Message, "cannot be recorded")
		})
	}
}
