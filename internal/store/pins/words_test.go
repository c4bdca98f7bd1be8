package pins_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolhost/toolhost/internal/store/pins"
)

func TestWordsOfAChange(t *testing.T) {
	for name, c := range map[string]struct {
		old, now string
		want     []string
	}{
		"a new tool":  {"", `{"description":"a"}`, nil},
		"nothing":     {`{"description":"a"}`, `{"description":"a"}`, nil},
		"description": {`{"description":"a"}`, `{"description":"b"}`, []string{`its description changed from "a" to "b"`}},
		"risk and more": {`{"risk":"read_only"}`, `{"risk":"dangerous","title":"x"}`,
			[]string{`its risk changed from "read_only" to "dangerous"`, `its title is new: "x"`}},
		"less": {`{"title":"x"}`, `{}`, []string{`its title is gone: "x"`}},
		"permissions": {`{"permissions":["a"]}`, `{"permissions":["network"]}`,
			[]string{`it now asks for "network"`, `it no longer asks for "a"`}},
		"permissions where there were none": {`{}`, `{"permissions":[{"kind":"network"}]}`,
			[]string{`it now asks for {"kind":"network"}`}},
		"parameters": {
			`{"inputSchema":{"properties":{"a":{"type":"string"},"b":{},"c":{}},"required":["c"]}}`,
			`{"inputSchema":{"properties":{"a":{"type":"number"},"c":{},"d":{}},"required":["d"]}}`,
			[]string{`the parameter "a" changed from {"type":"string"} to {"type":"number"}`, `the parameter "b" is gone`,
				`the parameter "c" is optional now`, `the parameter "d" is new: {}`, `the parameter "d" is required now`}},
		"a schema in another place": {`{"parameters":{"type":"object"}}`, `{"parameters":{"type":"object","additionalProperties":false}}`,
			[]string{"the schema of its parameters changed"}},
	} {
		assert.Equal(t, c.want, pins.Change{Old: c.old, New: c.now}.Words(), name)
	}
}
