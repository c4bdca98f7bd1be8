package host

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// recordable gives the parameters of a call for the record: without the values
// of parameters that the tool's schema marks as writeOnly.
func (c *call) recordable() any {
	entry, err := c.host.Catalog().Lookup(c.request.Tool)
	if err != nil || !bytes.Contains(entry.Definition().Parameters, []byte(`"writeOnly"`)) {
		return jsonOrText(c.request.Params)
	}
	params := c.request.Params
	if n, ok := entry.Tool.(tool.Normalizer); ok && len(params) > 0 {
		params = n.Normalize(params) // an old name may stand for a secret one
	}
	return jsonOrText(withoutWriteOnly(entry.Definition().Parameters, params))
}

// withoutWriteOnly hides the top-level members of params that schema marks as
// writeOnly. What cannot be read is hidden whole.
func withoutWriteOnly(schema, params json.RawMessage) json.RawMessage {
	var marks struct {
		Properties map[string]struct {
			WriteOnly bool `json:"writeOnly"`
		} `json:"properties"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &marks) != nil || json.Unmarshal(params, &members) != nil {
		return tool.MustMarshal(redact.Mark)
	}
	changed := false
	for name, mark := range marks.Properties {
		if _, given := members[name]; given && mark.WriteOnly {
			members[name] = tool.MustMarshal(redact.Mark)
			changed = true
		}
	}
	if !changed {
		return params
	}
	return tool.MustMarshal(members)
}
