package host

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/host/schema"
)

func TestWithoutWriteOnly(t *testing.T) {
	raw := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"value":{"type":"string",` +
		`"writeOnly":true},"env":{"type":"object","writeOnly":true}}}`)
	for params, want := range map[string]string{
		`{"name":"a","value":"hush","env":{"A":"hush"}}`: `{"name":"a","value":"[redacted]","env":"[redacted]"}`,
		`{"name":"a"}`: `{"name":"a"}`,
		`{"value":`:    `"[redacted]"`,
		`["hush"]`:     `"[redacted]"`,
	} {
		clean, _ := withoutWriteOnly(schema.SecretsOf(raw), json.RawMessage(params))
		assert.JSONEq(t, want, string(clean))
	}
}
