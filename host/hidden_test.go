package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// kept is a record of decisions.
type kept struct{ decisions []string }

func (*kept) Step(context.Context, string) (int, error) { return 7, nil }

func (k *kept) Event(_ context.Context, _, event string, payload any) error {
	if event == "tool_call_decided" {
		k.decisions = append(k.decisions, string(tool.MustMarshal(payload)))
	}
	return nil
}

func (*kept) ArtifactDir(string) string { return "" }

// A tool that is hidden by a rule is refused with that rule, also in the record. Who only looks learns what the judge
// says, and leaves no record.
func TestWhatHidesAToolIsTold(t *testing.T) {
	audit := host.Decision{Action: host.Deny, Rule: "no echo", Reason: `denied by rule "no echo" (because of the audit)`}
	const recorded = `{"request_id":"tool_step_0007","tool":"echo","action":"deny","rule":"no echo",` +
		`"reason":"denied by rule \"no echo\" (because of the audit)"}`
	record := new(kept)
	h := newHost(t, host.Options{Recorder: record,
		Judge: func(context.Context, host.Proposal) host.Decision { return audit },
		Toolset: host.Toolset{Hide: func(name string, _ *tool.Definition) *host.Decision {
			return map[string]*host.Decision{"echo": &audit, "write": {Action: host.Deny, Reason: "not approved"}}[name]
		}}}, echo("echo"), echo("write"), echo("open"))
	request := host.Request{Tool: "echo", Params: json.RawMessage(`{"text":"x"}`)}
	assert.Equal(t, []string{"echo", "write"}, h.Catalog().Hidden())
	_, why := h.Catalog().Lookup("echo")

	for name, out := range map[string]*host.Outcome{"a call": h.Session("s").Call(t.Context(), request),
		"the face's refusal": h.Session("s").Refuse(t.Context(), request, tool.AsError(why))} {
		require.NotNil(t, out.Err, name)
		assert.Equal(t, tool.Denied, out.Err.Code, name)
		assert.Contains(t, out.Err.Message, "because of the audit", name)
		assert.Equal(t, "no echo", out.Err.Details["rule"], name)
		assert.Equal(t, audit, out.Decision, name)
	}
	assert.Equal(t, []string{recorded, recorded}, record.decisions)

	proposal, err := h.Session("s").Propose(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, "echo", proposal.Tool)
	preview, err := h.Session("s").Preview(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, audit, preview.Decision)
	request.Tool = "write" // by no rule
	_, err = h.Session("s").Propose(t.Context(), request)
	assert.ErrorContains(t, err, "not approved")
	assert.Len(t, record.decisions, 2, "looking is not recorded")
}
