package policy

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// CanonicalJSON gives parameters in the one form that rules match: no blanks,
// the keys of every object sorted, characters as themselves wherever JSON
// allows it, numbers as they were written. What is no JSON stays as it is; no
// parameters are "{}".
func CanonicalJSON(params json.RawMessage) string {
	if len(bytes.TrimSpace(params)) == 0 {
		return "{}"
	}
	dec := json.NewDecoder(bytes.NewReader(params))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || dec.More() {
		return strings.TrimSpace(string(params))
	}
	return string(tool.MustMarshal(value))
}
